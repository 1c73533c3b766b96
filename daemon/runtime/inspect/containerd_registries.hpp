// SPDX-License-Identifier: Apache-2.0
// Finds out whether containerd reads a registry's hosts.toml in /etc/containerd/certs.d when it pulls for a
// pod.
//
// The setting config_path names the directories. Since containerd 2.1 the transfer service pulls images. It
// treats config_path as one directory, so a list, the default since 2.2, does not work with it
// (plugins/cri/images and core/transfer/registry).
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/config.hpp"

namespace gpuhost::runtime {

/// Reports whether containerd reads certs.d when it pulls for a pod. `images` is the CRI's table of image
/// settings: a plugin of its own since configuration version 3, before that the whole table of the CRI.
[[nodiscard]] RegistryHosts registry_hosts(const base::Json& images,
                                           const std::optional<RuntimeVersion>& version);

/// Returns true if certs.d has a hosts.toml that gpuhost wrote. Through it pods get the images of this host's
/// bundles.
[[nodiscard]] bool has_registry_hosts(const base::Root& root);

} // namespace gpuhost::runtime
