// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cluster/verbs.hpp"
#include "daemon/ctl/cluster/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    const auto text = root.read(cluster::policy_status_file);
    if (!text && text.error().code == base::Errc::NotFound)
        return base::fail(base::Errc::NotFound, "gpuhost-cluster is not running",
                          "Join a cluster: gpuhostctl cluster join. If this host has joined, see why: "
                          "systemctl status gpuhost-cluster.");
    if (!text)
        return base::fail(text.error());
    GPUHOST_TRY(document, base::parse_json(*text, "the policy of gpuhost-cluster"));
    const base::Json& policy = base::member(document, "policy");
    if (session.wants_json()) {
        session.print_json(document);
        return 0;
    }
    if (policy.is_null())
        return base::fail(base::Errc::NotFound, "gpuhost-cluster has not read the cluster's policy yet",
                          "See why: gpuhostctl cluster status.");
    session.page(render_cluster_policy(session.out(), policy));
    return 0;
}

constexpr std::array examples{
    Example{"cluster policy", "show each value of the upgrade policy, and where it is set"}};

} // namespace

const Verb cluster_policy_verb{
    "cluster policy",
    "",
    "show the cluster's policy for driver upgrades",
    "Shows the cluster's policy for driver upgrades, as gpuhost-cluster(8) has read it. Shows each value of "
    "gpuhost-policy(5) and its origin, errors in it, and fields that have no effect here. No API server is "
    "asked.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
