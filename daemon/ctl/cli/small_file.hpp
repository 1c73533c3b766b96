// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <cstddef>
#include <string>

namespace gpuhost::ctl {

/// Returns the content of a file that is named on the command line. Fails with BadContent if it has more than
/// `limit` bytes.
[[nodiscard]] base::Result<std::string> read_small_file(const std::string& path, std::size_t limit);
/// Like read_small_file(), but fails with InvalidArgument for a directory, a pipe or a device: it never waits
/// for a writer.
[[nodiscard]] base::Result<std::string> read_regular_file(const std::string& path, std::size_t limit);

} // namespace gpuhost::ctl
