// SPDX-License-Identifier: Apache-2.0
// A transaction as a pure state machine: records in, next action out. It has no I/O, no clock and no process.
//
// Its state is computed from the journal's records alone, so the running daemon and one that starts after a
// power cut use the same code. The runner (daemon/host/transaction) executes what next() returns, appends the
// result as a record, and repeats.
#pragma once

#include "daemon/core/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::core {

/// Returns how many of the following steps are skipped, according to "skip" in a step's output
/// (StepCode::apply).
[[nodiscard]] std::size_t skipped_by(const base::Json& output);

enum class StepState { Pending, Running, Done, Skipped, Failed, Undoing, Undone, UndoFailed };
[[nodiscard]] std::string_view name(StepState state) noexcept;

struct Action {
    enum class Type { Run, End } type = Type::End;
    Phase phase = Phase::Preflight;       // Run
    std::size_t step = 0;                 // Run: index of the step; in preflight: index of the group
    Outcome outcome = Outcome::Committed; // End
    std::optional<base::Error> error;     // End: the cause of a failure
};

class Transaction {
  public:
    /// Maximum number of attempts at a phase whose worker died or whose error may be temporary. After the
    /// last attempt, the transaction is undone. If the phase is itself an undo, the undo of the next step
    /// begins.
    static constexpr unsigned max_attempts = 3;

    /// Applies one record. Fails with BadContent, without a change, if the record can't follow the previous
    /// ones.
    [[nodiscard]] base::Result<void> feed(const Record& record);
    /// Returns the next action. After a Start without its Done or Fail, returns the same Run again: the
    /// runner waits for that phase's worker, or starts the phase again if the worker has exited. After a Done
    /// with `continues`, returns the Run of the next step of the group.
    [[nodiscard]] Action next() const;

    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] const Subject& subject() const { return subject_; }
    [[nodiscard]] const std::vector<StepState>& states() const { return states_; }
    /// Returns groups of steps, as indices in the plan. One preflight worker runs for each group.
    [[nodiscard]] const std::vector<std::vector<std::size_t>>& preflights() const { return preflights_; }
    [[nodiscard]] bool in_flight() const { return in_flight_; }   ///< a Start has no Done or Fail yet
    [[nodiscard]] unsigned attempts() const { return attempts_; } ///< Starts of the phase in flight
    /// Returns the last step of the group in flight.
    [[nodiscard]] std::size_t last() const { return last_; }
    /// Returns the number of Done records with `continues` since the newest Start.
    [[nodiscard]] std::size_t continued() const { return continued_; }
    [[nodiscard]] bool touched() const { return touched_; } ///< an apply that is not passive was started
    [[nodiscard]] bool undoing() const { return undoing_; }
    [[nodiscard]] bool past_return() const; ///< a `forward` step has begun
    /// Each step is done, skipped, or failed after the point of no return.
    [[nodiscard]] bool finished() const;
    [[nodiscard]] bool cancelled() const { return cancel_.has_value(); }
    [[nodiscard]] std::optional<Outcome> outcome() const { return outcome_; }
    [[nodiscard]] const std::optional<base::Error>& error() const { return cause_; }
    [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }
    [[nodiscard]] const std::string& boot_id() const { return boot_id_; }
    [[nodiscard]] const std::vector<base::Json>& outputs() const { return outputs_; }
    [[nodiscard]] std::uint64_t began_us() const { return began_us_; } ///< CLOCK_REALTIME
    [[nodiscard]] std::uint64_t ended_us() const { return ended_us_; } ///< 0 while it runs

    /// Returns true for a dry run: it ends after preflight.
    [[nodiscard]] bool check_only() const { return check_only_; }

  private:
    [[nodiscard]] base::Result<void> begin(const Record& record);
    [[nodiscard]] base::Result<void> start(const Record& record);
    [[nodiscard]] base::Result<void> done(const Record& record);
    [[nodiscard]] base::Result<void> failed(const Record& record);
    void skip_kinds(const std::vector<std::string>& kinds, std::size_t first);
    void resume(const Record& record);
    void undo_failed(const base::Error& error);
    void preflight_ended();
    void go_back(base::Error cause);
    void begin_step(std::size_t step);
    void begin_group(std::size_t last);
    [[nodiscard]] bool preflighted() const { return preflights_done_ == preflights_.size(); }
    [[nodiscard]] Action next_undo() const;
    [[nodiscard]] Outcome outcome_after_failure() const;

    Plan plan_;
    Subject subject_;
    std::vector<StepState> states_;
    std::vector<std::vector<std::size_t>> preflights_;
    std::size_t preflights_done_ = 0;
    std::vector<base::Json> outputs_;
    std::vector<Problem> problems_;
    std::optional<base::Error> cause_;
    std::optional<base::Error> refusal_; ///< error of the first preflight that failed
    std::optional<Outcome> outcome_;
    std::string boot_id_;
    Phase phase_ = Phase::Preflight;
    std::size_t step_ = 0;
    std::size_t last_ = 0;
    std::size_t continued_ = 0;
    unsigned attempts_ = 0;
    std::uint64_t began_us_ = 0;
    std::uint64_t ended_us_ = 0;
    bool begun_ = false;
    bool check_only_ = false;
    bool in_flight_ = false;
    bool touched_ = false;
    bool undoing_ = false;
    std::optional<base::Error> cancel_; ///< error of the Cancel record, which names the requester
    bool reboot_required_ = false;
    bool undo_failed_ = false;
};

} // namespace gpuhost::core
