// SPDX-License-Identifier: Apache-2.0
// A container runtime of a host as it is actually started.
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
/// Returns true if the runtime is a containerd or contains one. k0s, k3s, RKE2 and MicroK8s bundle their own.
[[nodiscard]] bool is_containerd(RuntimeKind kind);

struct RuntimeInstance {
    std::string name; ///< unique on the host: "containerd", "k3s", "docker-containerd"
    RuntimeKind kind = RuntimeKind::Containerd;
    std::string unit;                  ///< "containerd.service", if systemd starts it
    std::string unit_file;             ///< path of the unit's file
    std::vector<std::string> bound_to; ///< units whose restart restarts this runtime too
    std::string kill_mode;             ///< KillMode= of the unit, as in RuntimeUnit
    bool is_held = true;           ///< the process belongs to the unit, so a restart of the unit restarts it
    std::uint64_t pid = 0;         ///< 0: not running
    std::string executable;        ///< empty: not known
    bool is_replaced = false;      ///< the file of the running program was replaced
    std::string socket;            ///< address for clients; empty: not on the command line
    std::string config;            ///< the main file that it reads, even if the file does not exist
    bool must_have_config = false; ///< its command line names the file: it exits if the file does not exist
    std::string config_directory;  ///< directory of CRI-O's drop-ins
    std::vector<std::string> arguments;    ///< of the process, or else of its unit
    std::optional<RuntimeVersion> version; ///< nullopt: not known
};

/// Combines services and processes: a service and its process become one instance. The command line of the
/// process decides which files are read. Pure.
[[nodiscard]] std::vector<RuntimeInstance> instances_of(const std::vector<RuntimeUnit>& units,
                                                        const std::vector<RuntimeProcess>& processes);

} // namespace gpuhost::runtime
