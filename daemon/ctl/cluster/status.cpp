// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cluster/service.hpp"
#include "daemon/ctl/cluster/verbs.hpp"
#include "daemon/ctl/cluster/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const auto text = root.read(cluster::status_file);
    if (!text && text.error().code == base::Errc::NotFound)
        return base::fail(no_cluster_status(root));
    if (!text)
        return base::fail(text.error());
    GPUHOST_TRY(document, base::parse_json(*text, "the status of gpuhost-cluster"));
    if (session.wants_json())
        session.print_json(document);
    else
        session.page(render_cluster(session.out(), document));
    if (session.err().terminal)
        session.note("All hosts of the cluster: gpuhostctl fleet status\n");
    return 0;
}

constexpr std::array examples{Example{"cluster status", "show what this host reports to Kubernetes"}};

} // namespace

const Verb cluster_status_verb{
    "cluster status",
    "",
    "show what this host reports to Kubernetes",
    "Shows what gpuhost-cluster(8) reports to Kubernetes about this host: the API server, the Node, its "
    "conditions, and any problems. Also shows the conditions that the Node does not have yet, and the taints "
    "that wait for them. Asks no API server; 'fleet status' does, and shows all hosts.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
