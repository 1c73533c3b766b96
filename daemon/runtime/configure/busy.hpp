// SPDX-License-Identifier: Apache-2.0
// What a restart of a runtime would do to what it runs.
#pragma once

#include "daemon/runtime/inspect/state.hpp"

#include <string>

namespace gpuhost::runtime {

/// A phrase; empty: none. Containers of containerd and CRI-O run on, Docker's end with it unless it is told otherwise, and with a
/// containerd that its unit is bound to.
[[nodiscard]] std::string harm_of_restart(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
