// SPDX-License-Identifier: Apache-2.0
// A container runtime of a host, as it is really started.
#pragma once

#include "daemon/runtime/inspect/processes.hpp"
#include "daemon/runtime/inspect/units.hpp"
#include "daemon/runtime/inspect/version.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

enum class RuntimeKind { Containerd, K0s, K3s, Rke2, Microk8s, Crio, Docker, Podman };

[[nodiscard]] std::string_view name_of(RuntimeKind kind);
/// k0s, k3s, RKE2 and MicroK8s bring a containerd of their own.
[[nodiscard]] bool is_containerd(RuntimeKind kind);

struct RuntimeInstance {
    std::string name; ///< unique on the host: "containerd", "k3s", "docker-containerd"
    RuntimeKind kind = RuntimeKind::Containerd;
    std::string unit;                      ///< "containerd.service", where systemd starts it
    std::string unit_file;                 ///< where that is
    std::vector<std::string> bound_to;     ///< units whose restart restarts it too
    std::string kill_mode;                 ///< of the unit, as in RuntimeUnit
    bool is_held = true;                   ///< what runs is the unit's: to restart that restarts it
    std::uint64_t pid = 0;                 ///< 0: it does not run
    std::string executable;                ///< empty: not known
    bool is_replaced = false;              ///< what runs is no longer what is there
    std::string socket;                    ///< where clients reach it; empty: the command line does not say
    std::string config;                    ///< the file that it reads, whether there is one or not
    bool must_have_config = false;         ///< it was told to read it, and ends where it is not there
    std::string config_directory;          ///< of CRI-O's drop-ins
    std::vector<std::string> arguments;    ///< of what runs, or of its unit
    std::optional<RuntimeVersion> version; ///< nothing: not known
};

/// A service and the process of it are one instance, and the process says what it really reads. Pure.
[[nodiscard]] std::vector<RuntimeInstance> instances_of(const std::vector<RuntimeUnit>& units,
                                                        const std::vector<RuntimeProcess>& processes);

} // namespace gpuhost::runtime
