// SPDX-License-Identifier: Apache-2.0
// Effects of a runtime's restart on its containers.
#pragma once

#include "daemon/runtime/inspect/state.hpp"

#include <string>

namespace gpuhost::runtime {

/// Returns a phrase that names the harm; empty: none. Containers of containerd and CRI-O keep running.
/// Docker's containers end with dockerd unless live-restore is on. They also end with the restart of a
/// containerd that Docker's unit is bound to.
[[nodiscard]] std::string harm_of_restart(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
