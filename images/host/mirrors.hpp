// SPDX-License-Identifier: Apache-2.0
// Makes container runtimes of this host use its registry: writes files in the runtimes' formats for each
// registry whose images are in bundles. containerd and podman read them at each pull, CRI-O when it is
// notified, k3s and RKE2 at their start. No runtime is restarted.
//
//   /etc/containerd/certs.d/REGISTRY/hosts.toml           containerd 1.5 and later, if config_path names it
//   /etc/containers/registries.conf.d/50-gpuhost.conf     podman, buildah, skopeo, CRI-O
//   /etc/rancher/{k3s,rke2}/registries.yaml               k3s, RKE2
//
// An existing setup of a registry by others stays in effect: no file of ours is written for that registry.
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
    bool upstream = true; ///< use the original registry for images that no bundle has
};
[[nodiscard]] MirrorSettings mirror_settings(const core::Settings& settings);

/// Returns the registry as the first component of a path in ours, "registry.example_5000", for clients that
/// cannot name it otherwise.
[[nodiscard]] std::string registry_path(std::string registry);

/// The registries whose images are in bundles of the catalogue.
struct Registries {
    std::vector<std::string> names;      ///< sorted
    std::vector<std::string> namespaces; ///< "HOST/FIRST" of those without a port, sorted
    /// Unreadable records. Their registries are not removed from any file.
    std::vector<std::string> problems;
};
[[nodiscard]] Registries mirrored_registries(const base::Root& root);

/// Returns a hosts.toml (containerd's docs/hosts.md). The same content serves all registries, because
/// requests name the registry.
[[nodiscard]] std::string containerd_hosts(const MirrorSettings& settings);
/// Returns a file in the form of containers-registries.conf(5), version 2.
[[nodiscard]] std::string containers_registries(const Registries& registries, const MirrorSettings& settings);

struct Mirrors {
    std::vector<content::FileOperation> wrong; ///< the changes to make
    std::vector<std::string> left;             ///< sentences about what stays as it is, and why
};
/// Considers only runtimes on this host: those with a directory in /etc, and k3s and RKE2 also with a state
/// directory.
[[nodiscard]] Mirrors observe_mirrors(const base::Root& root, const Registries& registries,
                                      const MirrorSettings& settings);
/// Reports whether containerd has a hosts.toml of ours after these changes.
[[nodiscard]] bool will_lead_containerd(const base::Root& root, const core::Settings& settings);

} // namespace gpuhost::images
