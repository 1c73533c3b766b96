// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/transaction.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::core {

using base::Errc;
using base::Error;
using base::Result;

namespace {

tl::unexpected<Error> impossible(std::string_view what) {
    return base::fail(Errc::BadContent, "journal: " + std::string(what));
}

/// Returns true if the step's apply may have changed something, whether it succeeded or not.
bool needs_undo(StepState state) {
    return state == StepState::Running || state == StepState::Done || state == StepState::Failed ||
           state == StepState::Undoing;
}

/// Returns the output of a step's apply, with the notes of its preflight.
base::Json with_notes_of(const base::Json& preflight, base::Json output) {
    std::vector<std::string> notes = base::strings_or_empty(preflight, "notes");
    if (notes.empty())
        return output;
    for (std::string& note : base::strings_or_empty(output, "notes"))
        notes.push_back(std::move(note));
    if (!output.is_object())
        output = base::Json::object();
    output["notes"] = notes;
    return output;
}

} // namespace

std::size_t skipped_by(const base::Json& output) {
    constexpr std::int64_t most = 1'000'000; // more than any plan has
    return static_cast<std::size_t>(std::clamp<std::int64_t>(base::int_or(output, "skip", 0), 0, most));
}

std::string_view name(StepState state) noexcept {
    switch (state) {
    case StepState::Pending:
        return "pending";
    case StepState::Running:
        return "running";
    case StepState::Done:
        return "done";
    case StepState::Skipped:
        return "skipped";
    case StepState::Failed:
        return "failed";
    case StepState::Undoing:
        return "undoing";
    case StepState::Undone:
        return "undone";
    case StepState::UndoFailed:
        return "undo-failed";
    }
    return "pending";
}

Result<void> Transaction::feed(const Record& record) {
    if (begun_ == (record.type == Record::Type::Begin))
        return impossible("a journal has exactly one begin, as its first record");
    if (outcome_)
        return impossible("record after the end");
    switch (record.type) {
    case Record::Type::Begin:
        return begin(record);
    case Record::Type::Start:
        return start(record);
    case Record::Type::Done:
        return done(record);
    case Record::Type::Fail:
        return failed(record);
    case Record::Type::Cancel:
        if (past_return() || finished())
            return {};
        cancel_ = record.error.value_or(Error{Errc::Cancelled, "cancelled", {}});
        if (!undoing_ && !in_flight_)
            go_back(*cancel_);
        return {};
    case Record::Type::Resume:
        resume(record);
        return {};
    case Record::Type::End:
        outcome_ = record.outcome;
        // Earlier builds wrote failed for what is incomplete now, and rolled-back for a failed import.
        if (outcome_ == Outcome::Failed && plan_.changes_host)
            outcome_ = Outcome::Incomplete;
        if (outcome_ == Outcome::RolledBack && !plan_.changes_host)
            outcome_ = Outcome::Failed;
        ended_us_ = record.time_us;
        if (record.error && !cause_)
            cause_ = record.error;
        return {};
    }
    return impossible("unknown record");
}

Result<void> Transaction::begin(const Record& record) {
    if (!record.plan)
        return impossible("begin without a plan");
    begun_ = true;
    plan_ = *record.plan;
    preflights_ = record.preflights;
    check_only_ = record.check_only;
    subject_ = record.subject;
    boot_id_ = record.boot_id;
    began_us_ = record.time_us;
    states_.assign(plan_.steps.size(), StepState::Pending);
    outputs_.assign(plan_.steps.size(), base::Json());
    return {};
}

Result<void> Transaction::start(const Record& record) {
    const Action expected = next();
    if (expected.type != Action::Type::Run || expected.phase != record.phase || expected.step != record.step)
        return impossible("start of an action that is not next");
    for (std::size_t step = record.step + 1; step <= record.last; ++step)
        if (record.phase != Phase::Apply || step >= states_.size() || states_[step] != StepState::Pending ||
            plan_.steps[step].forward)
            return impossible("start of steps that are not a group");
    attempts_ = in_flight_ ? attempts_ + 1 : 1;
    phase_ = record.phase;
    last_ = std::max(record.step, record.last);
    continued_ = 0;
    begin_step(record.step);
    return {};
}

void Transaction::begin_step(std::size_t step) {
    in_flight_ = true;
    step_ = step;
    if (phase_ == Phase::Apply) {
        touched_ = touched_ || !plan_.steps[step_].passive;
        states_[step_] = StepState::Running;
    } else if (phase_ == Phase::Undo) {
        states_[step_] = StepState::Undoing;
    }
}

/// Marks the steps after the one in flight, up to `last`, as begun.
void Transaction::begin_group(std::size_t last) {
    for (std::size_t step = step_ + 1; step <= std::min(last, last_); ++step) {
        touched_ = touched_ || !plan_.steps[step].passive;
        states_[step] = StepState::Running;
    }
}

Result<void> Transaction::done(const Record& record) {
    if (!in_flight_ || phase_ != record.phase || step_ != record.step)
        return impossible("done without its start");
    const std::size_t following = step_ + 1 + skipped_by(record.output);
    if (record.continues && (phase_ != Phase::Apply || following > last_))
        return impossible("a step after the last one of its group");
    in_flight_ = false;
    switch (phase_) {
    case Phase::Preflight:
        // Warnings and facts of a preflight group do not name their steps, so they are stored as output of
        // the group's first step. The output of this step's apply replaces them; apply repeats the warnings
        // that still apply. Notes stay, because they are about the preflight itself.
        if (record.output.is_object() && !preflights_[step_].empty())
            outputs_[preflights_[step_].front()] = record.output;
        skip_kinds(base::strings_or_empty(record.output, "skip_kinds"), 0);
        preflight_ended();
        break;
    case Phase::Apply:
        states_[step_] = StepState::Done;
        outputs_[step_] = with_notes_of(outputs_[step_], record.output);
        for (std::size_t step = step_ + 1; step < std::min(following, states_.size()); ++step)
            states_[step] = StepState::Skipped;
        // Steps of the group in flight run: their worker decides by itself which of its steps is next.
        skip_kinds(base::strings_or_empty(record.output, "skip_kinds"), std::max(step_, last_) + 1);
        break;
    case Phase::Undo:
        states_[step_] = StepState::Undone;
        if (record.output.is_object())
            outputs_[step_].update(record.output); // the warnings of the undo
        break;
    }
    if (record.continues) {
        ++continued_;
        attempts_ = 1;
        begin_step(following);
        return {}; // a cancel stops the group after this step
    }
    // A cancel that was too late to stop the last step has no effect: the work is done and verified.
    if (cancel_ && !undoing_ && !finished())
        go_back(*cancel_);
    return {};
}

/// Marks steps of these kinds as skipped, from the step `first` on.
void Transaction::skip_kinds(const std::vector<std::string>& kinds, std::size_t first) {
    for (std::size_t step = first; step < states_.size(); ++step)
        if (std::find(kinds.begin(), kinds.end(), plan_.steps[step].kind) != kinds.end())
            states_[step] = StepState::Skipped;
}

Result<void> Transaction::failed(const Record& record) {
    if (!in_flight_ || phase_ != record.phase || step_ != record.step)
        return impossible("failure without its start");
    in_flight_ = false;
    Error error = record.error.value_or(Error{Errc::Refused, "preflight found problems", {}});
    // The cancel's error names the requester. The step's own error is in the journal.
    if (cancel_ && phase_ != Phase::Undo && error.code != Errc::RebootRequired)
        error = *cancel_;
    reboot_required_ = reboot_required_ || error.code == Errc::RebootRequired;
    switch (phase_) {
    case Phase::Preflight:
        problems_.insert(problems_.end(), record.problems.begin(), record.problems.end());
        if (!refusal_)
            refusal_ = error;
        if (record.problems.empty())
            go_back(error); // preflight itself failed, so more problems may exist
        else
            preflight_ended();
        break;
    case Phase::Apply:
        states_[step_] = StepState::Failed;
        if (!past_return()) {
            begin_group(record.last);
            go_back(error);
        } else if (!cause_) { // the remaining steps still run
            cause_ = std::move(error);
        }
        break;
    case Phase::Undo:
        undo_failed(error);
        break;
    }
    if (cancel_ && !undoing_)
        go_back(*cancel_);
    return {};
}

void Transaction::resume(const Record& record) {
    const bool rebooted = record.boot_id != boot_id_;
    boot_id_ = record.boot_id;
    if (!rebooted)
        return;    // no reboot: the phase in flight continues, its worker may still run
    attempts_ = 0; // the reboot removed the cause of the earlier interruptions
    if (undoing_ || finished() || past_return())
        return; // the undo or the forward steps continue; if finished, only the End record is missing
    // The reboot lost what the worker reported, so each step of the group in flight may have begun.
    if (in_flight_ && phase_ == Phase::Apply)
        begin_group(last_);
    in_flight_ = false;
    go_back(Error{Errc::Interrupted, "the host went down before the operation had ended", {}});
}

/// Records a failed undo. The undo of earlier steps continues: each success leaves less to repair by hand.
void Transaction::undo_failed(const Error& error) {
    in_flight_ = false;
    states_[step_] = StepState::UndoFailed;
    undo_failed_ = true;
    if (cause_)
        cause_->message += "; undo failed too: " + error.message;
}

/// After the last group, starts the undo if a preflight found problems. The undo does not start earlier, so
/// that the problems of all groups are reported.
void Transaction::preflight_ended() {
    ++preflights_done_;
    if (preflighted() && refusal_)
        go_back(*refusal_);
}

/// Checks all steps, since an early step may skip the last one.
bool Transaction::finished() const {
    return !undoing_ && !states_.empty() && std::all_of(states_.begin(), states_.end(), [](StepState state) {
        return state == StepState::Done || state == StepState::Skipped || state == StepState::Failed;
    });
}

bool Transaction::past_return() const {
    for (std::size_t i = 0; i < states_.size(); ++i)
        if (plan_.steps[i].forward && states_[i] != StepState::Pending && states_[i] != StepState::Skipped)
            return true;
    return false;
}

void Transaction::go_back(Error cause) {
    undoing_ = true;
    cause_ = std::move(cause);
}

Action Transaction::next() const {
    if (outcome_)
        return Action{Action::Type::End, phase_, step_, *outcome_, cause_};
    if (in_flight_)
        return Action{Action::Type::Run, phase_, step_, Outcome::Committed, std::nullopt};
    if (undoing_)
        return next_undo();
    const auto pending = std::find(states_.begin(), states_.end(), StepState::Pending);
    if (pending == states_.end())
        return cause_ ? Action{Action::Type::End, Phase::Apply, 0, outcome_after_failure(), cause_}
                      : Action{};
    if (!preflighted())
        return Action{Action::Type::Run, Phase::Preflight, preflights_done_, Outcome::Committed,
                      std::nullopt};
    if (check_only_)
        return Action{Action::Type::End, Phase::Preflight, 0, Outcome::Checked, std::nullopt};
    return Action{Action::Type::Run, Phase::Apply, static_cast<std::size_t>(pending - states_.begin()),
                  Outcome::Committed, std::nullopt};
}

Action Transaction::next_undo() const {
    const auto last = std::find_if(states_.rbegin(), states_.rend(), needs_undo);
    if (last == states_.rend())
        return Action{Action::Type::End, Phase::Undo, 0, outcome_after_failure(), cause_};
    return Action{Action::Type::Run, Phase::Undo, static_cast<std::size_t>(states_.rend() - last) - 1,
                  Outcome::Committed, std::nullopt};
}

Outcome Transaction::outcome_after_failure() const {
    // RebootRequired precedes Incomplete: a reboot repairs an undo that failed because of a module.
    if (reboot_required_)
        return Outcome::RebootRequired;
    if (undo_failed_ || past_return())
        return Outcome::Incomplete;
    if (cause_ && cause_->code == Errc::Cancelled)
        return Outcome::Cancelled;
    if (!touched_)
        return cause_ && cause_->code == Errc::Interrupted ? Outcome::Cancelled : Outcome::Refused;
    return plan_.changes_host ? Outcome::RolledBack : Outcome::Failed;
}

} // namespace gpuhost::core
