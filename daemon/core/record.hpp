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

/// Who asked for it, and by what right. What is not known, or not in an older record, is empty.
struct Subject {
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::string command;                    ///< comm of the caller, or "gpuhostd"
    std::string user;                       ///< the name that uid had
    std::optional<std::uint32_t> login_uid; ///< audit's: who logged in, whoever sudo(8) made of them since
    std::string login_user;                 ///< the name that login_uid had
    std::string unit;                       ///< of systemd, by the caller's cgroup
    std::string bus_name;                   ///< unique, on the bus of this boot
    std::string action;                     ///< of polkit, whoever allowed it; empty where there is none
    std::string allowed_by; ///< "root", "user" (a right of that user alone), "polkit", "daemon"
};
/// What had it asked for: "daemon" (gpuhostd by itself), "cluster", "unit" (another of our own: a timer, a path), or "request".
[[nodiscard]] std::string_view origin(const Subject& subject) noexcept;

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
