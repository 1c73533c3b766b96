// SPDX-License-Identifier: Apache-2.0
// Finds a host's container runtimes through services, processes and sockets.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns whether the path is a socket and not a link. A link leads to another runtime's socket, like
/// podman's under Docker's name.
[[nodiscard]] bool is_socket(const base::Root& root, const std::string& path);

/// Returns the runtimes of services and processes, those with only a known socket, and Podman, which needs no
/// service. Ordered by name, without versions.
[[nodiscard]] std::vector<RuntimeInstance> find_runtimes(const base::Root& root);

} // namespace gpuhost::runtime
