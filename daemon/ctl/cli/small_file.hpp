// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <cstddef>
#include <string>

namespace gpuhost::ctl {

/// Reads a whole file that is named on the command line. Fails with BadContent above `limit` bytes.
[[nodiscard]] base::Result<std::string> read_small_file(const std::string& path, std::size_t limit);

} // namespace gpuhost::ctl
