// SPDX-License-Identifier: Apache-2.0
// What a transaction's journal consists of.
#pragma once

#include "daemon/core/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

enum class Phase { Preflight, Apply, Undo };
enum class Outcome { Committed, Checked, Refused, RolledBack, Cancelled, Failed, RebootRequired };

[[nodiscard]] std::string_view name(Phase phase) noexcept;
[[nodiscard]] std::string_view name(Outcome outcome) noexcept;
[[nodiscard]] std::optional<Phase> phase_from_name(std::string_view text) noexcept;

struct Subject { ///< who asked
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::string command; ///< comm of the caller, or "gpuhostd"
};

struct Record {
    enum class Type {
        Begin,  ///< the plan; first record of a journal
        Start,  ///< this phase of this step is about to run; written before its worker starts
        Done,   ///< it ended well
        Fail,   ///< it ended in `error`, or preflight found `problems`
        Cancel, ///< a person asked to stop
        Resume, ///< a daemon took over; another boot_id than before means that the host went down
        End,    ///< nothing follows
    };
    Type type = Type::Begin;
    std::uint64_t t_us = 0;               ///< CLOCK_MONOTONIC
    std::uint64_t time_us = 0;            ///< CLOCK_REALTIME
    Phase phase = Phase::Preflight;       // Start, Done, Fail
    std::size_t step = 0;                 // Start, Done, Fail; of preflight the group, see `preflights`
    std::string boot_id;                  // Begin, Resume
    base::Json output;                    // Done
    std::optional<base::Error> error;     // Fail, Cancel, End
    std::vector<Problem> problems;        // Fail of preflight
    Outcome outcome = Outcome::Committed; // End
    std::optional<Plan> plan;             // Begin
    Subject subject;                      // Begin
    bool check_only = false;              // Begin: the transaction ends after preflight
    /// Begin: which steps one worker looks at in preflight, a worker a group.
    std::vector<std::vector<std::size_t>> preflights;
};

[[nodiscard]] base::Json to_json(const Subject& subject);
[[nodiscard]] base::Json to_json(const Record& record);
/// A record of a newer program is Unsupported.
[[nodiscard]] base::Result<Record> record_from_json(const base::Json& value);

} // namespace gpuhost::core
