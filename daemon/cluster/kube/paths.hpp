// SPDX-License-Identifier: Apache-2.0
// Paths of the files of gpuhost-cluster.
#pragma once

namespace gpuhost::cluster {

/// The administrator's kubeconfig. If it exists, it takes precedence over own_kubeconfig.
inline constexpr const char* given_kubeconfig = "/etc/gpuhost/cluster/kubeconfig";
/// The kubeconfig with which this host requests its own credentials.
inline constexpr const char* bootstrap_kubeconfig = "/etc/gpuhost/cluster/bootstrap-kubeconfig";
inline constexpr const char* bootstrap_authorities = "/etc/gpuhost/cluster/bootstrap-ca.pem";

/// Directory of the gates' certificates and tokens (policy/gate.hpp). The policy names the files in it.
inline constexpr const char* gates_directory = "/etc/gpuhost/cluster/gates";

/// Files that gpuhost-cluster writes when it requests its own credentials (enrolment.hpp).
inline constexpr const char* own_kubeconfig = "/var/lib/gpuhost/cluster/kubeconfig";
/// The private key and the certificate, in one file.
inline constexpr const char* own_identity = "/var/lib/gpuhost/cluster/client.pem";
inline constexpr const char* pending_key = "/var/lib/gpuhost/cluster/pending-key.pem";

/// Copies of the kubelet's files, which gpuhostd passes to gpuhost-cluster; each under its original path.
inline constexpr const char* kubelet_directory = "/run/gpuhost-cluster/kubelet";

inline constexpr const char* status_file = "/run/gpuhost-cluster/status.json";
inline constexpr const char* metrics_file = "/run/gpuhost-cluster/metrics.prom";
inline constexpr const char* policy_status_file = "/run/gpuhost-cluster/policy.json";

} // namespace gpuhost::cluster
