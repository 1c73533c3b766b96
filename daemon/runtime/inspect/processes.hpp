// SPDX-License-Identifier: Apache-2.0
// The container runtimes that run, by /proc.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeProcess {
    std::uint64_t pid = 0;
    std::string executable; ///< empty: only root may see it
    std::string unit;       ///< the service it is in; empty: none
    std::vector<std::string> command;
};

/// The service in the text of /proc/PID/cgroup; empty: none.
[[nodiscard]] std::string service_of_cgroup(std::string_view text);

/// Of root and of the host, by number. What a user calls containerd, or a container has in it, is none of them.
[[nodiscard]] std::vector<RuntimeProcess> read_runtime_processes(const base::Root& root);

/// Counts the shims that systemd ends with a service, unless its KillMode= says otherwise.
[[nodiscard]] std::size_t count_shims_in(const base::Root& root, const std::string& unit);
/// containerd's shims of one of its namespaces, whatever its state directory: of Docker's, "moby", one a container.
[[nodiscard]] std::size_t count_shims(const base::Root& root, std::string_view space);

} // namespace gpuhost::runtime
