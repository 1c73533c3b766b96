// SPDX-License-Identifier: Apache-2.0
// Restarts a runtime through systemd. It never sends a signal, because a signal ends containerd.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <functional>
#include <string_view>

namespace gpuhost::runtime {

/// Restarts the runtime, and waits until it answers and still answers after a short time. Otherwise fails
/// with Timeout or Failed, and with the message of systemd or of the runtime's client.
[[nodiscard]] base::Result<void> restart_runtime(const base::Root& root, const RuntimeState& state,
                                                 const std::function<void(std::string_view)>& progress);

/// Returns a phrase if a restart would not end: systemd would stop the runtime, but start it only after a job
/// that waits for this operation. Empty if there is no such job.
[[nodiscard]] std::string obstacle_to_restart(const base::Root& root);

/// Fails with Failed or Timeout unless the runtime runs and answers on its socket.
[[nodiscard]] base::Result<void> ask_runtime(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
