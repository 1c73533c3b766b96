// SPDX-License-Identifier: Apache-2.0
// What a runtime's configuration comes to, in the same words for all of them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/runtime/inspect/version.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// What a pod's RuntimeClass or "docker run --runtime" leads to.
struct RuntimeHandler {
    std::string name;   ///< "runc", "nvidia"
    std::string type;   ///< "io.containerd.runc.v2", "oci"; empty: the runtime's default
    std::string binary; ///< empty: the runtime's default
    std::optional<bool> systemd_cgroup;
    friend bool operator==(const RuntimeHandler&, const RuntimeHandler&) = default;
};

enum class CdiState {
    On,
    Off,         ///< and can be switched on
    Unsupported, ///< by this version
    Unknown,     ///< depends on the version, which is not known
};

/// containerd's /etc/containerd/certs.d, from which pods get this host's images.
enum class RegistryHosts {
    Read,
    Unread, ///< and config_path can be set
    Other,  ///< somebody set up something else, or the runtime has no such directory
};

struct RuntimeConfig {
    std::string cri_plugin; ///< containerd's key in "plugins"; empty for others
    std::string socket;     ///< where it listens, if its files say so
    bool serves_cri = true; ///< containerd's own can be off, as Docker's packages have it
    std::string default_handler;
    std::vector<RuntimeHandler> handlers; ///< by name
    CdiState cdi = CdiState::Unknown;
    std::vector<std::string> cdi_spec_dirs;
    RegistryHosts registry_hosts = RegistryHosts::Other;
    std::vector<std::string> problems; ///< for which the runtime does not start, or not as configured
};

/// Pure: of documents in the order in which the runtime reads them.
[[nodiscard]] RuntimeConfig crio_config(const std::vector<base::Json>& files,
                                        const std::optional<RuntimeVersion>& version);
[[nodiscard]] RuntimeConfig podman_config(const std::vector<base::Json>& files,
                                          const std::optional<RuntimeVersion>& version);
/// `daemon` is daemon.json, `arguments` those of dockerd, one of which may say what daemon.json does not.
[[nodiscard]] RuntimeConfig docker_config(const base::Json& daemon, const std::vector<std::string>& arguments,
                                          const std::optional<RuntimeVersion>& version);

} // namespace gpuhost::runtime
