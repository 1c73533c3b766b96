// SPDX-License-Identifier: Apache-2.0
// Restarts a runtime through systemd. It never sends a signal, because a signal ends containerd.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/inspect/state.hpp"

#include <functional>
#include <string_view>

namespace gpuhost::runtime {

/// Returns once the runtime answers and still answers after a short time. Otherwise fails with Timeout or
/// Failed, and with the message of systemd or of the client.
[[nodiscard]] base::Result<void> restart_runtime(const base::Root& root, const RuntimeState& state,
                                                 const std::function<void(std::string_view)>& progress);

/// Returns a phrase if systemd would stop a runtime, but start it only after a job that waits for this
/// operation; else empty.
[[nodiscard]] std::string obstacle_to_restart(const base::Root& root);

/// Checks that the runtime answers.
[[nodiscard]] base::Result<void> ask_runtime(const base::Root& root, const RuntimeState& state);

} // namespace gpuhost::runtime
