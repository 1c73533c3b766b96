// SPDX-License-Identifier: Apache-2.0
// A change of a runtime's configuration, tried by the runtime's own program before anything is live.
#pragma once

#include "daemon/runtime/configure/change.hpp"

#include <string>

namespace gpuhost::runtime {

/// Writes the files as they would be below `staging` and has the program load them: "containerd config dump", "crio config",
/// "dockerd --validate". Refused where it can't, or where it says that other things would change too than what is wished.
[[nodiscard]] base::Result<void> check_staged(const base::Root& root, const RuntimeState& state,
                                              const RuntimeChange& change, const RuntimeWish& wish,
                                              const std::string& staging);

/// Does its program load what is live?
[[nodiscard]] base::Result<void> check_live(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
