// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/paths.hpp"
#include "daemon/ctl/root_option.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/verbs_cluster.hpp"
#include "daemon/ctl/view_cluster.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const auto text = root.read(cluster::status_file);
    if (!text && text.error().code == base::Errc::NotFound)
        return base::fail(base::Errc::NotFound, "gpuhost-cluster is not running",
                          "Join a cluster with: gpuhostctl cluster join. Why it does not run says: systemctl "
                          "status gpuhost-cluster");
    if (!text)
        return base::fail(text.error());
    GPUHOST_TRY(document, base::parse_json(*text, "what gpuhost-cluster says of itself"));
    if (session.wants_json())
        session.print_json(document);
    else
        session.print(render_cluster(session.out(), document));
    return 0;
}

} // namespace

const Verb cluster_status_verb{
    "cluster status",
    "",
    "show what this host tells Kubernetes",
    "Shows which API server gpuhost-cluster watches this host's Node at, the conditions that it keeps there, "
    "the taints that wait "
    "for them, and what is in its way. Asks no server.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
