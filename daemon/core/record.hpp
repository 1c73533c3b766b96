// SPDX-License-Identifier: Apache-2.0
// The records of a transaction's journal.
#pragma once

#include "daemon/core/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

enum class Phase { Preflight, Apply, Undo };
/// Failed: an operation that changes only stored files (Plan::changes_host is false) failed and left them as
/// before. RolledBack: the same for one that changes the host, after its undo. Incomplete: what a failed
/// operation did remains in part, because an undo failed or the point of no return was passed.
enum class Outcome { Committed, Checked, Refused, Failed, RolledBack, Cancelled, Incomplete, RebootRequired };

[[nodiscard]] std::string_view name(Phase phase) noexcept;
[[nodiscard]] std::string_view name(Outcome outcome) noexcept;
[[nodiscard]] std::optional<Phase> phase_from_name(std::string_view text) noexcept;

/// The requester of an operation, and its authorization. A value is empty if it is unknown, or missing in a
/// journal of an earlier version.
struct Subject {
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::string command;                    ///< comm of the caller, or "gpuhostd"
    std::string user;                       ///< the user name of uid
    std::optional<std::uint32_t> login_uid; ///< audit's loginuid: the login, unchanged by sudo(8)
    std::string login_user;                 ///< the user name of login_uid
    std::string unit;                       ///< systemd unit, from the caller's cgroup
    std::string bus_name;                   ///< unique name on the D-Bus of that boot: ":1.42"
    /// Polkit action of the called method, even if polkit was not asked; empty if the method has none.
    std::string action;
    std::string allowed_by; ///< "root", "user" (granted to that user alone), "polkit", "daemon"
};
/// Returns the source of a request: "daemon" (gpuhostd itself), "cluster", "unit" (another of gpuhost's
/// units: a timer, a path), or "request".
[[nodiscard]] std::string_view origin(const Subject& subject) noexcept;

struct Record {
    enum class Type {
        Begin, ///< the first record of a journal; has the plan
        /// The phase `phase` of the steps from `step` to `last` is about to run. Written before the worker of
        /// these steps starts.
        Start,
        Done,   ///< that phase succeeded
        Fail,   ///< that phase failed with `error`, or preflight found `problems`
        Cancel, ///< stops the operation: on request, or because records could not be written
        /// A restarted daemon continues. If boot_id differs from the one in the previous Begin or Resume, the
        /// host was rebooted.
        Resume,
        End, ///< the last record
    };
    Type type = Type::Begin;
    std::uint64_t t_us = 0;         ///< CLOCK_MONOTONIC
    std::uint64_t time_us = 0;      ///< CLOCK_REALTIME
    Phase phase = Phase::Preflight; // Start, Done, Fail
    std::size_t step = 0; // Start, Done, Fail: index of the step; in preflight: index in `preflights`
    /// Start: index of the last step of the group. Fail: index of the last step that may have begun. Equals
    /// `step` if there is only one step.
    std::size_t last = 0;
    bool continues = false;               // Done: the worker has begun the next step of its group
    std::string boot_id;                  // Begin, Resume
    base::Json output;                    // Done
    std::optional<base::Error> error;     // Fail, Cancel, End
    std::vector<Problem> problems;        // Fail of preflight
    Outcome outcome = Outcome::Committed; // End
    std::optional<Plan> plan;             // Begin
    Subject subject;                      // Begin
    bool check_only = false;              // Begin: the transaction ends after preflight
    /// Begin: groups of steps, as indices in the plan. One preflight worker runs for each group.
    std::vector<std::vector<std::size_t>> preflights;
};

[[nodiscard]] base::Json to_json(const Subject& subject);
[[nodiscard]] base::Json to_json(const Record& record);
/// Fails with Unsupported for a record that a newer version of gpuhostd wrote, and with BadContent for an
/// invalid plan.
[[nodiscard]] base::Result<Record> record_from_json(const base::Json& value);

} // namespace gpuhost::core
