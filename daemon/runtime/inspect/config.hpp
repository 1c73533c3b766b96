// SPDX-License-Identifier: Apache-2.0
// A runtime's effective configuration in a common form.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/runtime/inspect/version.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// The target of a pod's RuntimeClass or of "docker run --runtime".
struct RuntimeHandler {
    std::string name;   ///< "runc", "nvidia"
    std::string type;   ///< "io.containerd.runc.v2", "oci"; empty: the runtime's default
    std::string binary; ///< empty: the runtime's default
    std::optional<bool> systemd_cgroup;
    friend bool operator==(const RuntimeHandler&, const RuntimeHandler&) = default;
};

enum class CdiState {
    On,
    Off,         ///< can be switched on
    Unsupported, ///< by this version
    Unknown,     ///< depends on the unknown version
};

/// Whether containerd uses /etc/containerd/certs.d, from which pods get this host's images.
enum class RegistryHosts {
    Read,
    Unread, ///< config_path can be set
    Other,  ///< another setup exists, or the runtime has no such directory
};

struct RuntimeConfig {
    std::string cri_plugin; ///< containerd's key in "plugins"; empty for others
    std::string socket;     ///< listening address if the files set it
    bool serves_cri = true; ///< containerd's CRI can be off, as in Docker's packages
    std::string default_handler;
    std::vector<RuntimeHandler> handlers; ///< ordered by name
    CdiState cdi = CdiState::Unknown;
    std::vector<std::string> cdi_spec_dirs;
    RegistryHosts registry_hosts = RegistryHosts::Other;
    std::vector<std::string> problems; ///< reasons why the runtime fails to start or ignores settings
};

/// Pure. `files` are in the order in which the runtime reads them.
[[nodiscard]] RuntimeConfig crio_config(const std::vector<base::Json>& files,
                                        const std::optional<RuntimeVersion>& version);
[[nodiscard]] RuntimeConfig podman_config(const std::vector<base::Json>& files,
                                          const std::optional<RuntimeVersion>& version);
/// `daemon` is daemon.json. `arguments` are dockerd's, and may add settings.
[[nodiscard]] RuntimeConfig docker_config(const base::Json& daemon, const std::vector<std::string>& arguments,
                                          const std::optional<RuntimeVersion>& version);

} // namespace gpuhost::runtime
