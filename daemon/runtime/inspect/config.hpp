// SPDX-License-Identifier: Apache-2.0
// A runtime's effective configuration in a common form.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/runtime/inspect/version.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// A low-level runtime such as runc: what a pod's RuntimeClass or "docker run --runtime" selects.
struct RuntimeHandler {
    std::string name;   ///< "runc", "nvidia"
    std::string type;   ///< "io.containerd.runc.v2", "oci"; empty: the runtime's default
    std::string binary; ///< empty: the runtime's default
    std::optional<bool> systemd_cgroup;
    friend bool operator==(const RuntimeHandler&, const RuntimeHandler&) = default;
};

enum class CdiState {
    On,
    Off,         ///< off, but can be switched on
    Unsupported, ///< this version of the runtime does not support CDI
    Unknown,     ///< not known, because the runtime's version is not known
};

/// Whether containerd reads /etc/containerd/certs.d when it pulls for pods. gpuhost's files in this directory
/// name this host's images.
enum class RegistryHosts {
    Read,
    Unread, ///< not read, but config_path can be set
    Other,  ///< not read; another setup exists, or the runtime has no such directory
};

struct RuntimeConfig {
    std::string cri_plugin; ///< key of containerd's CRI in "plugins"; empty for other runtimes
    std::string socket;     ///< address on which the runtime listens, if the files set one
    bool serves_cri = true; ///< serves pods; containerd's CRI can be off, as in Docker's packages
    std::string default_handler;
    std::vector<RuntimeHandler> handlers; ///< ordered by name
    CdiState cdi = CdiState::Unknown;
    std::vector<std::string> cdi_spec_dirs;
    RegistryHosts registry_hosts = RegistryHosts::Other;
    std::vector<std::string> problems; ///< reasons why the runtime fails to start or ignores settings
};

/// Return the effective configuration. Pure. `files` are the parsed files in the order in which the runtime
/// reads them.
[[nodiscard]] RuntimeConfig crio_config(const std::vector<base::Json>& files,
                                        const std::optional<RuntimeVersion>& version);
[[nodiscard]] RuntimeConfig podman_config(const std::vector<base::Json>& files,
                                          const std::optional<RuntimeVersion>& version);
/// Returns Docker's effective configuration. `daemon` is the content of daemon.json. `arguments` are
/// dockerd's, which may contain settings too.
[[nodiscard]] RuntimeConfig docker_config(const base::Json& daemon, const std::vector<std::string>& arguments,
                                          const std::optional<RuntimeVersion>& version);

} // namespace gpuhost::runtime
