// SPDX-License-Identifier: Apache-2.0
// One restart of a runtime, by systemd: never a signal, which ends containerd.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <functional>
#include <string_view>

namespace gpuhost::runtime {

/// Gives back once it answers, and still does after a while. Timeout or Failed otherwise, with what systemd or its client says.
[[nodiscard]] base::Result<void> restart_runtime(const base::Root& root, const RuntimeState& state,
                                                 const std::function<void(std::string_view)>& progress);

/// A phrase, where systemd would stop a runtime and start it only behind what waits for this very operation; else empty.
[[nodiscard]] std::string obstacle_to_restart(const base::Root& root);

/// Does it answer?
[[nodiscard]] base::Result<void> ask_runtime(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
