// SPDX-License-Identifier: Apache-2.0
// Finds a host's container runtimes through services, processes and sockets.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns true if the path is a socket and not a link: a link may point to the socket of another runtime, as
/// from Docker's name to podman's.
[[nodiscard]] bool is_socket(const base::Root& root, const std::string& path);

/// Returns the runtimes of a host: those with a service or process, those with only a known socket, and
/// Podman, which needs no service. They are ordered by name, and their versions are not set.
[[nodiscard]] std::vector<RuntimeInstance> find_runtimes(const base::Root& root);

} // namespace gpuhost::runtime
