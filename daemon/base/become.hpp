// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::base {

/// Changes this process from root to `user`, with the groups of that user, and sets no_new_privs. The
/// process can't change back. Files that are open stay open. Call before starting threads.
[[nodiscard]] Result<void> become(const std::string& user);

} // namespace gpuhost::base
