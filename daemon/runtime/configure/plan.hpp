// SPDX-License-Identifier: Apache-2.0
// The planned action for a runtime, with its reasons. 'runtime configure --dry-run' prints it,
// and the step runtime.configure carries it out.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/runtime/configure/change.hpp"
#include "daemon/runtime/inspect/runtime_record.hpp"
#include "daemon/runtime/runtime_settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

enum class RuntimeGoal { Configured, Restored };

enum class PlanOutcome {
    Nothing, ///< already as desired
    Change,
    ByHand,  ///< gpuhost does not configure this runtime; an administrator may have to do it
    Refused, ///< not possible at present
};
[[nodiscard]] std::string_view name_of(PlanOutcome outcome);

enum class Restart {
    None,
    Now,
    Wanted, ///< an administrator must restart the runtime
};

struct RuntimePlan {
    RuntimeState state;
    PlanOutcome outcome = PlanOutcome::Nothing;
    std::string text; ///< a sentence about `outcome`
    DesiredConfig desired;
    RuntimeChange change;
    std::map<std::string, Text> without_us; ///< contents of files without gpuhost's edits, by path
    Restart restart = Restart::None;
    std::string restart_text;           ///< a sentence that gives the reason
    std::string warning;                ///< why pods do not use this host's images; empty: no warning
    std::optional<base::Error> problem; ///< set for Refused
};

/// Returns an instruction to restart the runtime manually, which ends with ": ". Callers append the reason.
[[nodiscard]] std::string restart_by_hand(const RuntimeInstance& instance);

/// Makes the plan. Reads the texts of the files that it may change; `state` has their parsed and merged
/// content. `recorded` is the runtime's entry in the record; nullptr if there is none.
[[nodiscard]] RuntimePlan plan_runtime(const base::Root& root, RuntimeState state,
                                       const RecordedRuntime* recorded, const RuntimeSettings& settings,
                                       RuntimeGoal goal);

/// Reads the states of the chosen runtimes in `all`. `names` chooses them, or `of_settings` if `names` is
/// empty. If both are empty, all runtimes are chosen. Fails with NotFound if a runtime in `names` is absent.
[[nodiscard]] base::Result<std::vector<RuntimeState>>
read_chosen_runtimes(const base::Root& root, std::vector<RuntimeInstance> all,
                     const std::vector<std::string>& of_settings, const std::vector<std::string>& names);

/// Return the documents that org.gpuhost1(5) describes. `no_restart`: as if an administrator restarts the
/// runtimes.
[[nodiscard]] base::Result<base::Json> plan_runtimes(const base::Root& root, const core::Settings& settings,
                                                     const std::vector<std::string>& names, bool no_restart);
[[nodiscard]] base::Result<base::Json> verify_runtimes(const base::Root& root, const core::Settings& settings,
                                                       const std::vector<std::string>& names);

} // namespace gpuhost::runtime
