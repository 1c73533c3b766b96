// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/cluster/policy/check.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cluster/service.hpp"
#include "daemon/ctl/cluster/verbs.hpp"
#include "daemon/ctl/cluster/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr Option check_option{"check", "FILE", "check a file with manifests instead, without a cluster"};
constexpr std::array options{check_option, root_option, option::json};

constexpr std::size_t largest = 4U << 20U; ///< bytes of a file with manifests

base::Result<int> check(Session& session, const std::string& path) {
    if (session.arguments().has(root_option))
        return base::fail(base::Errc::InvalidArgument, "--root cannot be used with --check",
                          "Name the file below the directory.");
    GPUHOST_TRY(text, read_regular_file(path, largest));
    GPUHOST_TRY(document, cluster::check_policy(text, "'" + path + "'", cluster::unix_now()));
    if (session.wants_json())
        session.print_json(document);
    else
        session.page(render_policy_check(session.out(), document, path));
    const std::size_t mistakes = base::list_of(document, "problems").size();
    if (mistakes == 0)
        return 0;
    return base::fail(base::Errc::BadContent, plural(mistakes, "mistake", "mistakes") + " found",
                      "Correct the file. See gpuhost-policy(5).");
}

base::Result<int> run(Session& session) {
    if (const auto file = session.arguments().value(check_option))
        return check(session, *file);
    GPUHOST_TRY(root, given_root(session.arguments()));
    const auto text = root.read(cluster::policy_status_file);
    if (!text && text.error().code == base::Errc::NotFound)
        return base::fail(no_cluster_status(root));
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
    Example{"cluster policy", "show each value of the upgrade policy, and where it is set"},
    Example{"cluster policy --check=policy.yaml", "check a policy before it is applied"},
};

} // namespace

const Verb cluster_policy_verb{
    "cluster policy",
    "",
    "show the cluster's policy for driver upgrades",
    "Shows the cluster's policy for driver upgrades, as gpuhost-cluster(8) has read it. Shows each value of "
    "gpuhost-policy(5) and its origin, errors in it, and fields that have no effect here. No API server is "
    "asked. With --check, reads FILE as gpuhost-cluster would read it from the API server: YAML or JSON with "
    "ConfigMap gpuhost-policy, a ClusterPolicy or both, or the policy itself. Prints each mistake with its "
    "line and the nearest known field, then the values, windows and gates of each pool. The exit status is 9 "
    "if there is a mistake. Needs no cluster and no daemon.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
