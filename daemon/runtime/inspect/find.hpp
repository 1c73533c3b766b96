// SPDX-License-Identifier: Apache-2.0
// Which container runtimes a host has, by what is there: services, processes, sockets.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/instance.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// No link: what is a socket elsewhere under this name is another runtime's, as podman's under Docker's.
[[nodiscard]] bool is_socket(const base::Root& root, const std::string& path);

/// Those of services and processes, what is known by its socket alone, and Podman, which needs no service; by name, without
/// their versions.
[[nodiscard]] std::vector<RuntimeInstance> find_runtimes(const base::Root& root);

} // namespace gpuhost::runtime
