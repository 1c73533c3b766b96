// SPDX-License-Identifier: Apache-2.0
// k3s and RKE2 contain their own containerd. They write its certs.d at each start, from their registries.yaml
// (docs.k3s.io/installation/private-registry).
#pragma once

#include "daemon/base/root.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

struct K3s {
    std::string_view name;
    std::string_view directory; ///< below /etc
    std::string_view agent;     ///< directory of its state; present after the first start
    std::string_view registries;
};
inline constexpr std::array k3s_kinds{
    K3s{"k3s", "/etc/rancher/k3s", "/var/lib/rancher/k3s/agent", "/etc/rancher/k3s/registries.yaml"},
    K3s{"RKE2", "/etc/rancher/rke2", "/var/lib/rancher/rke2/agent", "/etc/rancher/rke2/registries.yaml"},
};

[[nodiscard]] bool is_here(const base::Root& root, const K3s& k3s);
/// Returns the file's content. All registries have the same endpoint, because requests name the registry.
[[nodiscard]] std::string k3s_registries(const std::vector<std::string>& registries,
                                         const std::string& endpoint);
/// Reports whether the file is newer than the containerd configuration made from it.
[[nodiscard]] bool has_to_read_registries(const base::Root& root, const K3s& k3s);

} // namespace gpuhost::images
