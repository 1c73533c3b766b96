// SPDX-License-Identifier: Apache-2.0
// Whether containerd reads a registry's hosts.toml in /etc/containerd/certs.d when it pulls for a pod.
//
// config_path names that directory. Since 2.1 the transfer service pulls, and it treats config_path as one
// directory: plugins/cri/images and core/transfer/registry. A list, the default since 2.2, does not work with
// it.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/config.hpp"

namespace gpuhost::runtime {

/// `images` is the CRI's table of images: a separate plugin since configuration version 3, before that the
/// whole CRI table.
[[nodiscard]] RegistryHosts registry_hosts(const base::Json& images,
                                           const std::optional<RuntimeVersion>& version);

/// Returns whether gpuhost has written a hosts.toml, by which pods find this host's images.
[[nodiscard]] bool has_registry_hosts(const base::Root& root);

} // namespace gpuhost::runtime
