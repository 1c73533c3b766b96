// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/core/cluster_desired.hpp"
#include "daemon/core/former_names.hpp"
#include "daemon/ctl/cli/root_option.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cluster/service.hpp"
#include "daemon/ctl/cluster/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{root_option};

/// Removes the cluster's desired state of this host. If gpuhostd runs, it applies the removal at once. If it
/// does not run, or below another root, the removal takes effect at gpuhostd's next start.
base::Result<void> withdraw_desired(Session& session, const base::Root& root) {
    const auto client = root.is_host() ? session.client() : base::fail(base::Errc::NotFound, "");
    if (!client || !(*client)->running().value_or(false)) {
        GPUHOST_CHECK(core::rename_former_files(root));
        return root.remove(core::cluster_desired_file);
    }
    GPUHOST_TRY(id, (*client)->start(client::manager_call("SetDesiredState", {std::string("{}")}), {}));
    if (id != 0)
        session.note("Operation " + std::to_string(id) +
                     " applies the toolkit's settings of gpuhostd.conf(5) alone again.\n");
    return {};
}

base::Result<int> run(Session& session) {
    GPUHOST_TRY(root, given_root(session.arguments()));
    if (root.exists(cluster::given_kubeconfig))
        return base::fail(base::Errc::Refused,
                          "'" + std::string(cluster::given_kubeconfig) +
                              "' was written by an administrator and is kept",
                          "Remove the file first.");
    if (root.is_host())
        GPUHOST_CHECK(control_cluster_service({"disable", "--now"}));
    GPUHOST_CHECK(withdraw_desired(session, root));
    for (const char* path : {cluster::bootstrap_kubeconfig, cluster::bootstrap_authorities,
                             cluster::own_kubeconfig, cluster::own_identity, cluster::pending_key})
        GPUHOST_CHECK(root.remove(path));
    session.note("This host no longer has credentials for a cluster. What it reported stays on its Node.\n");
    return 0;
}

constexpr std::array examples{Example{"cluster leave", "stop gpuhost-cluster and delete the credentials"}};

} // namespace

const Verb cluster_leave_verb{
    "cluster leave",
    "",
    "delete this host's credentials for its Kubernetes cluster",
    "Stops gpuhost-cluster and deletes the key and the certificate that 'cluster join' got. Also deletes the "
    "settings of the cluster's policy for toolkits, which then follow gpuhostd.conf(5) alone again. The Node "
    "in the cluster is not changed. The API server accepts the certificate until it expires, but its key is "
    "deleted.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
