// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/client/client.hpp"
#include "daemon/ctl/cli/arguments.hpp"

namespace gpuhost::ctl {

/// Returns --holders and --holder-timeout as options of the methods Swap and Rollback. For an option that is
/// not given, gpuhostd uses its setting.
[[nodiscard]] base::Result<client::Options> holder_options(const Arguments& arguments);

} // namespace gpuhost::ctl
