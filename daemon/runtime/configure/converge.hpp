// SPDX-License-Identifier: Apache-2.0
// Configures runtimes or removes gpuhost's edits. On failure it restores the earlier files.
//
// For each runtime, the runtime's own program checks the change. The files' contents are saved in the
// transaction's staging directory and in the record. The files are written one by one, in an order in which
// the runtime can load them after each write. Finally the runtime is restarted once if its effective
// configuration has changed.
//
// All phases are one step. If a runtime fails, only its own files are restored; other runtimes and the other
// steps of an apply, such as a driver swap, stay in effect. The runner undoes whole transactions only.
// Runtimes are found and planned one after another in the worker, since a restart may affect the next
// runtime.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/configure/plan.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct ConvergeRequest {
    RuntimeGoal goal = RuntimeGoal::Configured;
    std::vector<std::string> names; ///< empty: the runtimes that the settings name
    RuntimeSettings settings;
    /// A request named these runtimes: obstacles are errors, and the limit on restarts does not apply.
    bool is_asked = false;
    /// The requester restarts the runtimes; this stays in force until a request without no-restart.
    bool no_restart = false;

    [[nodiscard]] bool permits_restart() const { return settings.restart && !no_restart; }
};

struct Targets {
    std::vector<RuntimeState> here;
    /// Names of runtimes that no longer exist, but have files with gpuhost's edits to restore.
    std::vector<std::string> gone;
};
/// Finds the runtimes of a request. Fails with NotFound if a name is neither present nor recorded.
[[nodiscard]] base::Result<Targets> targets_of(const base::Root& root, const ConvergeRequest& request,
                                               const RuntimeRecord& record);

/// Carries out a request. Returns {"runtimes": [{"name", "outcome", "text", "restarted"}]}. Continues if run
/// again after an interruption.
[[nodiscard]] base::Result<base::Json> converge_runtimes(core::StepContext& context,
                                                         const ConvergeRequest& request);

} // namespace gpuhost::runtime
