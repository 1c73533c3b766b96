// SPDX-License-Identifier: Apache-2.0
// Finds running container runtimes in /proc.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeProcess {
    std::uint64_t pid = 0;
    std::string executable; ///< empty: the caller is not root and may not read it
    std::string unit;       ///< its systemd service; empty: none
    std::vector<std::string> command;
};

/// Returns the service named in the text of /proc/PID/cgroup; empty: none.
[[nodiscard]] std::string service_of_cgroup(std::string_view text);

/// Returns the processes of container runtimes, ordered by PID. Excludes processes of users other than root,
/// and processes in containers.
[[nodiscard]] std::vector<RuntimeProcess> read_runtime_processes(const base::Root& root);

/// Counts the containerd shims in the cgroup of a service. systemd ends them with the service unless its
/// KillMode= prevents it.
[[nodiscard]] std::size_t count_shims_in(const base::Root& root, const std::string& unit);
/// Counts the shims of containers in one of containerd's namespaces, in any state directory. Docker's
/// namespace is "moby"; each container has one shim.
[[nodiscard]] std::size_t count_shims(const base::Root& root, std::string_view space);

} // namespace gpuhost::runtime
