// SPDX-License-Identifier: Apache-2.0
// How container runtimes of this host find its registry: files of theirs that say so for each registry that a bundle has
// images of. containerd and podman read them at each pull, CRI-O when it is told to, k3s and RKE2 at their start; none is
// restarted.
//
//   /etc/containerd/certs.d/REGISTRY/hosts.toml           containerd 1.5 and later, where config_path names that directory
//   /etc/containers/registries.conf.d/50-gpuhost.conf     podman, buildah, skopeo, CRI-O
//   /etc/rancher/{k3s,rke2}/registries.yaml               k3s, RKE2
//
// What somebody else set up for a registry stays in force: then there is no file of ours for it.
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
    bool upstream = true; ///< what no bundle has is asked of the registry itself
};
[[nodiscard]] MirrorSettings mirror_settings(const core::Settings& settings);

/// What stands for a registry at the head of a path in ours: "registry.example_5000", for those who can't name it otherwise.
[[nodiscard]] std::string registry_path(std::string registry);

/// The registries that bundles of the catalogue have images of.
struct Registries {
    std::vector<std::string> names;      ///< in order
    std::vector<std::string> namespaces; ///< "HOST/FIRST", in order, of those without a port
    std::vector<std::string>
        problems; ///< records that can't be read: what they have is not taken out of any file
};
[[nodiscard]] Registries mirrored_registries(const base::Root& root);

/// docs/hosts.md of containerd has the format. Requests say themselves which registry they mean.
[[nodiscard]] std::string containerd_hosts(const MirrorSettings& settings);
/// containers-registries.conf(5), version 2.
[[nodiscard]] std::string containers_registries(const Registries& registries, const MirrorSettings& settings);

struct Mirrors {
    std::vector<content::FileOperation> wrong; ///< what is to be done
    std::vector<std::string> left;             ///< what stays as it is, and why: sentences
};
/// Only for runtimes that are on this host, by their directory in /etc; k3s and RKE2 also by that of their state.
[[nodiscard]] Mirrors look_at_mirrors(const base::Root& root, const Registries& registries,
                                      const MirrorSettings& settings);
/// Tells whether containerd has a hosts.toml of ours once that is done.
[[nodiscard]] bool will_lead_containerd(const base::Root& root, const core::Settings& settings);

} // namespace gpuhost::images
