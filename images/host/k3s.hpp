// SPDX-License-Identifier: Apache-2.0
// k3s and RKE2, which contain their own containerd. At each start they write that containerd's certs.d from
// their registries.yaml (docs.k3s.io/installation/private-registry).
#pragma once

#include "daemon/base/root.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct K3s {
    std::string_view name;
    std::string_view directory; ///< its configuration, below /etc
    std::string_view agent;     ///< directory of its state, which it creates at its first start
    std::string_view registries;
};
inline constexpr std::array k3s_kinds{
    K3s{"k3s", "/etc/rancher/k3s", "/var/lib/rancher/k3s/agent", "/etc/rancher/k3s/registries.yaml"},
    K3s{"RKE2", "/etc/rancher/rke2", "/var/lib/rancher/rke2/agent", "/etc/rancher/rke2/registries.yaml"},
};

/// Reports whether this distribution of Kubernetes is on the host: one of its two directories exists.
[[nodiscard]] bool is_here(const base::Root& root, const K3s& k3s);
/// Returns the content of registries.yaml. All registries have the same endpoint, because requests to this
/// endpoint name the registry ("?ns=").
[[nodiscard]] std::string k3s_registries(const std::vector<std::string>& registries,
                                         const std::string& endpoint);
/// Reports whether k3s must be restarted: registries.yaml is newer than the containerd configuration that k3s
/// made from it.
[[nodiscard]] bool has_to_read_registries(const base::Root& root, const K3s& k3s);

} // namespace gpuhost::images
