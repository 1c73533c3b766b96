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
    std::string executable; ///< empty: only root may read it
    std::string unit;       ///< its service; empty: none
    std::vector<std::string> command;
};

/// Returns the service named in the text of /proc/PID/cgroup; empty: none.
[[nodiscard]] std::string service_of_cgroup(std::string_view text);

/// Returns the processes of container runtimes, by number. Excludes those of other users than root, and those
/// in containers.
[[nodiscard]] std::vector<RuntimeProcess> read_runtime_processes(const base::Root& root);

/// Counts the shims that systemd ends with a service unless its KillMode= prevents it.
[[nodiscard]] std::size_t count_shims_in(const base::Root& root, const std::string& unit);
/// Counts containerd's shims in one of its namespaces, in any state directory. Docker's is "moby", with one
/// shim for each container.
[[nodiscard]] std::size_t count_shims(const base::Root& root, std::string_view space);

} // namespace gpuhost::runtime
