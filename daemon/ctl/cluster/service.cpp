// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cluster/service.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"
#include "daemon/ctl/cli/system_query.hpp"

namespace gpuhost::ctl {

base::Result<void> control_cluster_service(const std::vector<std::string>& words) {
    base::Command command;
    command.argv = {"systemctl"};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    command.argv.emplace_back("gpuhost-cluster.service");
    GPUHOST_TRY(finished, base::run(command));
    if (finished.exit_status != 0)
        return base::fail(base::Errc::Failed,
                          base::join(command.argv, " ") + ": " + std::string(base::trim(finished.output)),
                          "See: systemctl status gpuhost-cluster.");
    return {};
}

base::Error no_cluster_status(std::string_view sub_state) {
    if (base::starts_with(sub_state, "start"))
        return {base::Errc::NotFound, "gpuhost-cluster is starting",
                "Wait some seconds, then run: gpuhostctl cluster status."};
    if (base::starts_with(sub_state, "auto-restart"))
        return {base::Errc::NotFound, "gpuhost-cluster has failed, and will be started again",
                "See why: journalctl -u gpuhost-cluster."};
    return {base::Errc::NotFound, "gpuhost-cluster is not running",
            "Join a cluster: gpuhostctl cluster join. If this host has joined, see why: "
            "systemctl status gpuhost-cluster."};
}

base::Error no_cluster_status(const base::Root& root) {
    std::string sub_state;
    if (root.is_host())
        sub_state =
            query_program({"systemctl", "show", "--property=SubState", "--value", "gpuhost-cluster.service"},
                          64)
                .text;
    return no_cluster_status(sub_state);
}

} // namespace gpuhost::ctl
