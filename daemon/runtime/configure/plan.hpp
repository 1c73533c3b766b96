// SPDX-License-Identifier: Apache-2.0
// Planned actions for a runtime with their reasons. "runtime plan" prints them and a step carries them out.
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
    ByHand,  ///< gpuhost does not configure it; a person may have to
    Refused, ///< not possible at present
};
[[nodiscard]] std::string_view name_of(PlanOutcome outcome);

enum class Restart {
    None,
    Now,
    Wanted, ///< to be done by a person
};

struct RuntimePlan {
    RuntimeState state;
    PlanOutcome outcome = PlanOutcome::Nothing;
    std::string text; ///< a sentence
    DesiredConfig desired;
    RuntimeChange change;
    std::map<std::string, Text> without_us; ///< its files without gpuhost's edits, by path
    Restart restart = Restart::None;
    std::string restart_text;           ///< a sentence that gives the reason
    std::string warning;                ///< why pods do not use this host's images
    std::optional<base::Error> problem; ///< set for Refused
};

/// Returns an instruction to restart the runtime manually. The reason follows it.
[[nodiscard]] std::string restart_by_hand(const RuntimeInstance& instance);

/// Reads the texts of the runtime's files; `state` holds their merged content. `recorded` describes the last
/// run; nullptr: not known.
[[nodiscard]] RuntimePlan plan_runtime(const base::Root& root, RuntimeState state,
                                       const RecordedRuntime* recorded, const RuntimeSettings& settings,
                                       RuntimeGoal goal);

/// Returns the runtimes of `all` that `names` lists, else those of `of_settings`, else all. Fails with
/// NotFound if one is absent.
[[nodiscard]] base::Result<std::vector<RuntimeState>>
read_chosen_runtimes(const base::Root& root, std::vector<RuntimeInstance> all,
                     const std::vector<std::string>& of_settings, const std::vector<std::string>& names);

/// Return the documents that org.gpuhost1(5) describes.
[[nodiscard]] base::Result<base::Json> plan_runtimes(const base::Root& root, const core::Settings& settings,
                                                     const std::vector<std::string>& names);
[[nodiscard]] base::Result<base::Json> verify_runtimes(const base::Root& root, const core::Settings& settings,
                                                       const std::vector<std::string>& names);

} // namespace gpuhost::runtime
