// SPDX-License-Identifier: Apache-2.0
// Whether containerd looks for a registry's hosts.toml in /etc/containerd/certs.d when it pulls for a pod.
//
// config_path names that directory. Since 2.1 the transfer service pulls, and it takes config_path for the name of one
// directory: plugins/cri/images and core/transfer/registry. A list, which is the default since 2.2, leads it nowhere.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/config.hpp"

namespace gpuhost::runtime {

/// `images` is the CRI's table of images: since configuration version 3 a plugin of its own, before that all of the CRI's.
[[nodiscard]] RegistryHosts registry_hosts(const base::Json& images,
                                           const std::optional<RuntimeVersion>& version);

/// Tells whether there is a hosts.toml of gpuhost's, so that pods are to find this host's images.
[[nodiscard]] bool has_registry_hosts(const base::Root& root);

} // namespace gpuhost::runtime
