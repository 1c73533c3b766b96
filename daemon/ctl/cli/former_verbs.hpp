// SPDX-License-Identifier: Apache-2.0
// Former names of verbs. They are not accepted; an error names today's verb.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Fails with InvalidArgument if the words begin with a former verb. `options` are those of the command line,
/// with dashes.
[[nodiscard]] base::Result<void> check_former(const std::vector<std::string>& words,
                                              const std::vector<std::string>& options);

} // namespace gpuhost::ctl
