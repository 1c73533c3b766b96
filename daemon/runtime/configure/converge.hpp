// SPDX-License-Identifier: Apache-2.0
// Makes runtimes configured, or takes out what is ours, and puts back what was there where that fails.
//
// Per runtime: the change is checked by the runtime's own program; what stood in its files goes into the transaction's directory
// and into the record; the files are written one by one, so that what each prefix leaves loads; then the runtime is
// restarted, once, if what it is configured to do has changed.
#pragma once

#include "daemon/core/step.hpp"
#include "daemon/runtime/configure/plan.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

struct ConvergeRequest {
    Goal goal = Goal::Configured;
    std::vector<std::string> names; ///< empty: those of the settings
    RuntimeSettings settings;
    bool is_asked =
        false; ///< by a person, for these: what is in the way is an error, and restarts are not counted
    bool no_restart = false; ///< who asks does it, until they ask again
};

struct Targets {
    std::vector<RuntimeState> here;
    std::vector<std::string>
        gone; ///< of which there is nothing but files with something of ours, to be restored
};
/// NotFound names what is neither.
[[nodiscard]] base::Result<Targets> targets_of(const base::Root& root, const ConvergeRequest& request,
                                               const RuntimeRecord& record);

/// {"runtimes": [{"name", "outcome", "text", "restarted"}]}. Run again after an interruption it goes on.
[[nodiscard]] base::Result<base::Json> converge_runtimes(core::StepContext& context,
                                                         const ConvergeRequest& request);

/// All files as this transaction found them, but those that somebody has written since; runtimes that have read ours are
/// restarted. Also after a reboot.
[[nodiscard]] base::Result<void> put_back_runtimes(core::StepContext& context, bool may_restart);

} // namespace gpuhost::runtime
