// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::base {

/// Changes root permanently to `user`, with that user's groups. Call before anything is opened or a thread is
/// started.
[[nodiscard]] Result<void> become(const std::string& user);

} // namespace gpuhost::base
