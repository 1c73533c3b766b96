// SPDX-License-Identifier: Apache-2.0
// k3s and RKE2 bring a containerd of their own, and write its certs.d themselves whenever they start, from their
// registries.yaml (docs.k3s.io/installation/private-registry).
#pragma once

#include "daemon/base/root.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct K3s {
    std::string_view name;
    std::string_view directory; ///< in /etc
    std::string_view agent;     ///< its state: there once it has run
    std::string_view registries;
};
inline constexpr std::array k3s_kinds{
    K3s{"k3s", "/etc/rancher/k3s", "/var/lib/rancher/k3s/agent", "/etc/rancher/k3s/registries.yaml"},
    K3s{"RKE2", "/etc/rancher/rke2", "/var/lib/rancher/rke2/agent", "/etc/rancher/rke2/registries.yaml"},
};

[[nodiscard]] bool is_here(const base::Root& root, const K3s& k3s);
/// Each registry has the same endpoint; requests say themselves which one they mean.
[[nodiscard]] std::string k3s_registries(const std::vector<std::string>& registries,
                                         const std::string& endpoint);
/// It has written its containerd's configuration before that file was changed.
[[nodiscard]] bool has_to_read_registries(const base::Root& root, const K3s& k3s);

} // namespace gpuhost::images
