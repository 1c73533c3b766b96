// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::base {

/// Root becomes `user`, with the groups of that one, for good. Before anything is opened or a thread is started.
[[nodiscard]] Result<void> become(const std::string& user);

} // namespace gpuhost::base
