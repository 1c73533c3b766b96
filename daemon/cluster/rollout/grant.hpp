// SPDX-License-Identifier: Apache-2.0
// The Leases that coordinate upgrades, all in namespace gpuhost: the leader, the reasons why hosts wait, and
// one grant for each host that may upgrade.
// https://kubernetes.io/docs/concepts/architecture/leases/
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/cluster/rollout/admission.hpp"

#include <string>
#include <string_view>

namespace gpuhost::cluster {

inline constexpr const char* leases_path = "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases";
inline constexpr const char* leader_lease = "gpuhost-leader";
inline constexpr const char* rollout_lease = "gpuhost-rollout"; ///< the leader publishes in it why hosts wait
inline constexpr std::string_view grant_prefix = "gpuhost-upgrade-";

namespace key {
/// Annotation of a grant: term_of() the leader that created the grant.
inline constexpr const char* term = "gpuhost.io/term";
inline constexpr const char* version = "gpuhost.io/version"; ///< annotation of a grant: driver version
inline constexpr const char* node_uid = "gpuhost.io/node-uid";
inline constexpr const char* wait_reasons = "gpuhost.io/wait-reasons"; ///< on gpuhost-rollout: {pool: reason}
} // namespace key

/// The fields of a Lease that gpuhost uses.
struct LeaseFacts {
    std::string name;
    std::string uid;
    std::string version; ///< resourceVersion
    std::string holder;
    std::string renewed; ///< renewTime, never parsed: only its changes count
    bool taken = false;  ///< renewed since the Lease was created
    Seconds duration{0};
    std::int64_t transitions = 0;
    std::string term;
    std::string node_uid;
    base::Json waits;
};

[[nodiscard]] LeaseFacts lease_facts(const base::Json& lease);
/// Returns the path of the Lease named `name`.
[[nodiscard]] std::string lease_path(const std::string& name);
[[nodiscard]] std::string grant_name(const std::string& node);
/// Returns the term of the leader in `leader`, the Lease gpuhost-leader. Each change of leader gives a new
/// term, even if the Lease was deleted in between.
[[nodiscard]] std::string term_of(const LeaseFacts& leader);
/// Returns the node that the Lease named `lease` permits to upgrade; empty: it is not a grant.
[[nodiscard]] std::string granted_node(const std::string& lease);

[[nodiscard]] base::Json new_grant(const UpgradeNode& node, const std::string& version,
                                   const std::string& term, Seconds duration, std::uint64_t now_us);
/// Returns a merge patch that renews the Lease. It applies only to the resourceVersion in `lease`.
[[nodiscard]] base::Json renewal(const LeaseFacts& lease, std::uint64_t now_us);

} // namespace gpuhost::cluster
