// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cluster/service.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/process.hpp"

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

} // namespace gpuhost::ctl
