// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cluster/fleet.hpp"
#include "daemon/ctl/cluster/verbs.hpp"
#include "daemon/ctl/cluster/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option fleet_option{"fleet", "", "show the upgrade of all hosts, as the API server has it"};
constexpr Option all_option{"all", "", "show each host of the fleet on a line of its own"};
constexpr Option follow_option{"follow", "", "show the fleet until interrupted, with each change"};
constexpr std::array options{fleet_option, follow_option, all_option, root_option, option::json};

base::Result<int> show_host(Session& session, const base::Root& root) {
    const auto text = root.read(cluster::status_file);
    if (!text && text.error().code == base::Errc::NotFound)
        return base::fail(base::Errc::NotFound, "gpuhost-cluster is not running",
                          "Join a cluster: gpuhostctl cluster join. If this host has joined, see why: "
                          "systemctl status gpuhost-cluster.");
    if (!text)
        return base::fail(text.error());
    GPUHOST_TRY(document, base::parse_json(*text, "the status of gpuhost-cluster"));
    if (session.wants_json())
        session.print_json(document);
    else
        session.print(render_cluster(session.out(), document));
    if (session.err().terminal)
        session.note("All hosts of the cluster: gpuhostctl cluster status --fleet\n");
    return 0;
}

base::Result<int> run(Session& session) {
    const Arguments& given = session.arguments();
    GPUHOST_TRY(root, given_root(given));
    const FleetOptions fleet{given.has(follow_option), given.has(all_option)};
    return given.has(fleet_option) || fleet.follow || fleet.all ? show_fleet(session, root, fleet)
                                                                : show_host(session, root);
}

} // namespace

const Verb cluster_status_verb{
    "cluster status",
    "",
    "show what this host reports to Kubernetes, or the upgrade of all hosts",
    "Shows what gpuhost-cluster(8) reports to Kubernetes about this host: the API server, the Node, its "
    "conditions, and any problems. Also shows the conditions that the Node does not have yet, and the taints "
    "that wait for them. This asks no API server. With --fleet it asks the API server with this host's "
    "credentials, and shows the driver upgrade of all hosts and the reason why the others wait. --follow and "
    "--all imply --fleet.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
