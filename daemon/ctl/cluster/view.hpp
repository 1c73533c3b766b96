// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Renders the status document of gpuhost-cluster.
[[nodiscard]] std::string render_cluster(const Screen& screen, const base::Json& document);

/// Renders the policy for `gpuhostctl cluster policy`.
[[nodiscard]] std::string render_cluster_policy(const Screen& screen, const base::Json& policy);

} // namespace gpuhost::ctl
