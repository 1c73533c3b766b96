// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>

namespace gpuhost::ctl {

/// Renders the status document of gpuhost-cluster.
[[nodiscard]] std::string render_cluster(const Screen& screen, const base::Json& document);

/// Returns how to let a Node upgrade again whose upgrade has failed.
[[nodiscard]] std::string hint_to_upgrade_again(const std::string& node);

/// Returns the command that lets a Node's host lead.
[[nodiscard]] std::string command_to_let_lead(const std::string& node);

/// Renders the policy for `gpuhostctl cluster policy`.
[[nodiscard]] std::string render_cluster_policy(const Screen& screen, const base::Json& policy);

/// Renders the result of cluster::check_policy() for the file with this name: the mistakes with their lines,
/// the values that are not defaults, and for each pool its own values, waves, windows and gates.
[[nodiscard]] std::string render_policy_check(const Screen& screen, const base::Json& check,
                                              const std::string& file);

} // namespace gpuhost::ctl
