// SPDX-License-Identifier: Apache-2.0
// Checks a changed configuration with the runtime's own program before it becomes live.
#pragma once

#include "daemon/runtime/configure/change.hpp"

#include <string>

namespace gpuhost::runtime {

/// Writes the changed files below `staging` and loads them with "containerd config dump", "crio config" or
/// "dockerd --validate". Fails with Refused if the program cannot load them, or if the change has effects
/// other than `desired`.
[[nodiscard]] base::Result<void> check_staged(const base::Root& root, const RuntimeState& state,
                                              const RuntimeChange& change, const DesiredConfig& desired,
                                              const std::string& staging);

/// Fails if the runtime's program cannot load the live files.
[[nodiscard]] base::Result<void> check_live(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
