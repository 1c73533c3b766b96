// SPDX-License-Identifier: Apache-2.0
// The Leases by which upgrades are coordinated, in namespace gpuhost: who leads, what hosts wait for, and each host's grant.
// https://kubernetes.io/docs/concepts/architecture/leases/
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/rollout/admission.hpp"

#include <string>
#include <string_view>

namespace gpuhost::cluster {

inline constexpr const char* leases_path = "/apis/coordination.k8s.io/v1/namespaces/gpuhost/leases";
inline constexpr const char* leader_lease = "gpuhost-leader";
inline constexpr const char* rollout_lease = "gpuhost-rollout"; ///< why hosts wait, for all of them to read
inline constexpr std::string_view grant_prefix = "gpuhost-upgrade-";

namespace key {
inline constexpr const char* term = "gpuhost.io/term";       ///< of the leader that made it: term_of()
inline constexpr const char* version = "gpuhost.io/version"; ///< that the grant is for
inline constexpr const char* node_uid = "gpuhost.io/node-uid";
inline constexpr const char* waits = "gpuhost.io/waits"; ///< {pool: reason}
} // namespace key

/// What of a Lease anybody here looks at.
struct LeaseFacts {
    std::string name;
    std::string uid;
    std::string version; ///< resourceVersion
    std::string holder;
    std::string renewed; ///< verbatim: only whether it changed counts, whatever clocks say
    bool taken = false;  ///< somebody has renewed it since it was made
    Seconds duration{0};
    std::int64_t transitions = 0;
    std::string term;
    std::string node_uid;
    base::Json waits;
};

[[nodiscard]] LeaseFacts lease_facts(const base::Json& lease);
[[nodiscard]] std::string grant_name(const std::string& node);
/// Of the Lease gpuhost-leader: another each time that somebody takes it, even when it was deleted in between.
[[nodiscard]] std::string term_of(const LeaseFacts& leader);
/// Empty: it is no grant.
[[nodiscard]] std::string granted_node(const std::string& lease);

[[nodiscard]] base::Json new_leader(const std::string& node, Seconds duration, std::uint64_t now_us);
[[nodiscard]] base::Json new_grant(const UpgradeNode& node, const std::string& version,
                                   const std::string& term, Seconds duration, std::uint64_t now_us);
/// A merge patch that counts for this version of the Lease alone.
[[nodiscard]] base::Json renewal(const LeaseFacts& lease, std::uint64_t now_us);

} // namespace gpuhost::cluster
