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
enum class Outcome { Committed, Checked, Refused, RolledBack, Cancelled, Failed, RebootRequired };

[[nodiscard]] std::string_view name(Phase phase) noexcept;
[[nodiscard]] std::string_view name(Outcome outcome) noexcept;
[[nodiscard]] std::optional<Phase> phase_from_name(std::string_view text) noexcept;

/// The requester of an operation, and its authorization. Values that are unknown, or missing in an older
/// record, are empty.
struct Subject {
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    std::string command;                    ///< comm of the caller, or "gpuhostd"
    std::string user;                       ///< the user name of uid
    std::optional<std::uint32_t> login_uid; ///< audit's loginuid: the login, unchanged by sudo(8)
    std::string login_user;                 ///< the user name of login_uid
    std::string unit;                       ///< systemd's, from the caller's cgroup
    std::string bus_name;                   ///< unique, on the bus of this boot
    std::string action;     ///< polkit's, even if something else allowed it; empty if there is none
    std::string allowed_by; ///< "root", "user" (granted to that user alone), "polkit", "daemon"
};
/// Returns the source of a request: "daemon" (gpuhostd itself), "cluster", "unit" (another of gpuhost's
/// units: a timer, a path), or "request".
[[nodiscard]] std::string_view origin(const Subject& subject) noexcept;

struct Record {
    enum class Type {
        Begin,  ///< the first record of a journal; has the plan
        Start,  ///< this phase of this step is about to run; written before its worker starts
        Done,   ///< the phase succeeded
        Fail,   ///< the phase failed with `error`, or preflight found `problems`
        Cancel, ///< stops the operation: on request, or because records could not be written
        Resume, ///< another daemon resumed; a boot_id that differs from the one before means a reboot
        End,    ///< the last record
    };
    Type type = Type::Begin;
    std::uint64_t t_us = 0;               ///< CLOCK_MONOTONIC
    std::uint64_t time_us = 0;            ///< CLOCK_REALTIME
    Phase phase = Phase::Preflight;       // Start, Done, Fail
    std::size_t step = 0;                 // Start, Done, Fail; a group in preflight, see `preflights`
    std::string boot_id;                  // Begin, Resume
    base::Json output;                    // Done
    std::optional<base::Error> error;     // Fail, Cancel, End
    std::vector<Problem> problems;        // Fail of preflight
    Outcome outcome = Outcome::Committed; // End
    std::optional<Plan> plan;             // Begin
    Subject subject;                      // Begin
    bool check_only = false;              // Begin: the transaction ends after preflight
    /// Begin: groups of steps; each group has one preflight worker.
    std::vector<std::vector<std::size_t>> preflights;
};

[[nodiscard]] base::Json to_json(const Subject& subject);
[[nodiscard]] base::Json to_json(const Record& record);
/// Fails with Unsupported for a newer program's record.
[[nodiscard]] base::Result<Record> record_from_json(const base::Json& value);

} // namespace gpuhost::core
