// SPDX-License-Identifier: Apache-2.0
// What is to be done about a runtime, and why: what "runtime plan" prints and a step does.
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

enum class Goal { Configured, Restored };

enum class Outcome {
    Nothing, ///< it is as it should be
    Change,
    ByHand,  ///< gpuhost does not configure it: somebody else has to, or nobody can
    Refused, ///< it can't be done as things are
};
[[nodiscard]] std::string_view name_of(Outcome outcome);

enum class Restart {
    None,
    Now,
    Wanted, ///< by a person
};

struct RuntimePlan {
    RuntimeState state;
    Outcome outcome = Outcome::Nothing;
    std::string text; ///< a sentence
    RuntimeWish wish;
    RuntimeChange change;
    std::map<std::string, Text> without_us; ///< what its files were without us, by path
    Restart restart = Restart::None;
    std::string restart_text;           ///< a sentence, why
    std::string warning;                ///< why pods are not led to this host's images
    std::optional<base::Error> problem; ///< of Refused
};

/// What to do where gpuhost does not; the reason follows.
[[nodiscard]] std::string restart_by_hand(const RuntimeInstance& instance);

/// Reads the texts of its files; what they come to is `state`'s. `recorded` is what is known of the last time; nullptr: nothing.
[[nodiscard]] RuntimePlan plan_runtime(const base::Root& root, RuntimeState state,
                                       const RecordedRuntime* recorded, const RuntimeSettings& settings,
                                       Goal goal);

/// Those of `all` that `names` name, or `of_settings` where there are none, or all. NotFound names what is not here.
[[nodiscard]] base::Result<std::vector<RuntimeState>>
read_chosen_runtimes(const base::Root& root, std::vector<RuntimeInstance> all,
                     const std::vector<std::string>& of_settings, const std::vector<std::string>& names);

/// org.gpuhost1(5) has the documents.
[[nodiscard]] base::Result<base::Json> plan_runtimes(const base::Root& root, const core::Settings& settings,
                                                     const std::vector<std::string>& names);
[[nodiscard]] base::Result<base::Json> verify_runtimes(const base::Root& root, const core::Settings& settings,
                                                       const std::vector<std::string>& names);

} // namespace gpuhost::runtime
