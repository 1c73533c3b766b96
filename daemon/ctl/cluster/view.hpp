// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// What gpuhost-cluster says of itself.
[[nodiscard]] std::string render_cluster(const Screen& screen, const base::Json& document);

/// What `gpuhostctl cluster policy` shows.
[[nodiscard]] std::string render_cluster_policy(const Screen& screen, const base::Json& policy);

} // namespace gpuhost::ctl
