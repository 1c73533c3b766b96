// SPDX-License-Identifier: Apache-2.0
// Where what concerns a cluster lies on a host.
#pragma once

namespace gpuhost::cluster {

/// An administrator's; where it is, it counts.
inline constexpr const char* given_kubeconfig = "/etc/gpuhost/cluster/kubeconfig";
/// By which this host asks for credentials of its own.
inline constexpr const char* bootstrap_kubeconfig = "/etc/gpuhost/cluster/bootstrap-kubeconfig";
inline constexpr const char* bootstrap_authorities = "/etc/gpuhost/cluster/bootstrap-ca.pem";

/// What a rollout's gates are asked with: authorities and tokens, by the names that a policy has for them.
inline constexpr const char* gates_directory = "/etc/gpuhost/cluster/gates";

/// gpuhost-cluster's own.
inline constexpr const char* own_kubeconfig = "/var/lib/gpuhost/cluster/kubeconfig";
inline constexpr const char* own_identity =
    "/var/lib/gpuhost/cluster/client.pem"; ///< key and certificate, as one file
inline constexpr const char* pending_key = "/var/lib/gpuhost/cluster/pending-key.pem";

/// What the daemon lends of the kubelet's files, each below it where the kubelet has it.
inline constexpr const char* kubelet_directory = "/run/gpuhost-cluster/kubelet";

inline constexpr const char* status_file = "/run/gpuhost-cluster/status.json";
inline constexpr const char* metrics_file = "/run/gpuhost-cluster/metrics.prom";
inline constexpr const char* policy_status_file = "/run/gpuhost-cluster/policy.json";

} // namespace gpuhost::cluster
