// SPDX-License-Identifier: Apache-2.0
// Makes the container runtimes of this host pull from gpuhost-registry. For each registry whose images are in
// bundles, writes files in the runtimes' formats. They are read at each pull by containerd and podman, after
// SIGHUP by CRI-O, and at their start by k3s and RKE2. No runtime is restarted.
//
//   /etc/containerd/certs.d/REGISTRY/hosts.toml           containerd 1.5 and later, if config_path names it
//   /etc/containers/registries.conf.d/50-gpuhost.conf     podman, buildah, skopeo, CRI-O
//   /etc/rancher/{k3s,rke2}/registries.yaml               k3s, RKE2
//
// If an administrator or another program has configured a registry already, that configuration stays in
// effect: gpuhost writes nothing for that registry.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/content/set/file_operation.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::images {

[[nodiscard]] std::span<const core::SettingKey> mirror_setting_keys();

/// [Mirrors] of gpuhostd.conf.
struct MirrorSettings {
    bool enable = true;
    std::string address;  ///< "127.0.0.1:299"
    bool upstream = true; ///< runtimes ask the original registry for images that no bundle on this host has
};
[[nodiscard]] MirrorSettings mirror_settings(const core::Settings& settings);

/// Returns a registry in the form that begins the name of a repository in gpuhost-registry:
/// "registry.example_5000". Clients that do not send "?ns=" (podman, CRI-O, Docker) use this form.
[[nodiscard]] std::string registry_path(std::string registry);

/// The registries whose images are in bundles of the catalogue.
struct Registries {
    std::vector<std::string> names; ///< sorted
    /// BundleRecord::namespaces of all bundles, sorted: "docker.io/library".
    std::vector<std::string> namespaces;
    /// Errors of unreadable records. While there are any, no file or registry is removed, because the bundles
    /// with unreadable records may need it.
    std::vector<std::string> problems;
};
[[nodiscard]] Registries mirrored_registries(const base::Root& root);

/// Returns the content of a hosts.toml (containerd's docs/hosts.md). It is the same for all registries,
/// because containerd names the registry in its requests ("?ns=").
[[nodiscard]] std::string containerd_hosts(const MirrorSettings& settings);
/// Returns the content of containers_file, in the form of containers-registries.conf(5), version 2.
[[nodiscard]] std::string containers_registries(const Registries& registries, const MirrorSettings& settings);

struct Mirrors {
    std::vector<content::FileOperation> wrong; ///< the changes to make
    /// Sentences about registries and files that are not changed, and why.
    std::vector<std::string> left;
};
/// Compares the runtimes' files with what they should be. Looks only at runtimes on this host: those with a
/// directory in /etc. For k3s and RKE2, a directory of state is enough.
[[nodiscard]] Mirrors observe_mirrors(const base::Root& root, const Registries& registries,
                                      const MirrorSettings& settings);
/// Reports whether containerd will have a hosts.toml of gpuhost after the changes in Mirrors::wrong were
/// made.
[[nodiscard]] bool will_lead_containerd(const base::Root& root, const core::Settings& settings);

} // namespace gpuhost::images
