// SPDX-License-Identifier: Apache-2.0
// Finds out what a restart of a runtime would do to its containers.
#pragma once

#include "daemon/runtime/inspect/state.hpp"

#include <string>

namespace gpuhost::runtime {

/// Returns a phrase about the containers that a restart of the runtime would end; empty if none. Containers
/// of containerd and CRI-O keep running. Docker's containers end with dockerd unless live-restore is on. They
/// also end with the restart of a containerd that Docker's unit is bound to.
[[nodiscard]] std::string harm_of_restart(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
