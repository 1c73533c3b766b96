// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

/// --holders and --holder-timeout as the options of Swap and Rollback; what is not given is the
/// configuration's.
[[nodiscard]] base::Result<Options> holder_options(const Arguments& arguments);

} // namespace gpuhost::ctl
