// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/runner.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/messages.hpp"
#include "daemon/host/transaction/audit.hpp"
#include "daemon/host/worker/sandbox.hpp"

#include <algorithm>

namespace gpuhost::host {

namespace {

namespace log = base::log;
namespace message = base::message;
using base::Errc;
using base::Error;
using base::Result;
using core::Action;
using core::Outcome;
using core::Phase;
using core::Record;

constexpr double preflight_share = 0.05;

/// Returns true for an undo's error that a reboot cures: a process uses a module, or the worker hung or died.
bool is_cured_by_reboot(const Error& error) {
    return error.code == Errc::InUse || error.code == Errc::Timeout || error.code == Errc::Interrupted;
}

std::string_view message_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::Committed:
        return message::operation_committed;
    case Outcome::Checked:
        return message::operation_checked;
    case Outcome::Refused:
    case Outcome::Cancelled:
        return message::operation_refused;
    case Outcome::Failed:
    case Outcome::RolledBack:
        return message::operation_rolled_back;
    case Outcome::Incomplete:
        return message::operation_failed;
    case Outcome::RebootRequired:
        return message::reboot_required;
    }
    return message::operation_failed;
}

/// Groups the steps for preflight; one worker checks each group. The steps of each unprivileged sandbox are a
/// group, so that privileged workers never parse foreign input. All other steps share one group, and so one
/// start of a worker, except those that ask the driver in the sandbox Mig.
std::vector<std::vector<std::size_t>> preflight_groups(const core::StepKinds& kinds, const core::Plan& plan) {
    std::map<std::optional<core::Sandbox>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const core::StepKind* kind = kinds.find(plan.steps[i].kind);
        if (kind && kind->has_preflight)
            groups[has_own_preflights(kind->sandbox) ? std::optional(kind->sandbox) : std::nullopt].push_back(
                i);
    }
    std::vector<std::vector<std::size_t>> made;
    made.reserve(groups.size());
    for (auto& [sandbox, group] : groups)
        made.push_back(std::move(group));
    return made;
}

/// Returns a step's weight in the progress of its operation: its deadline in seconds. A deadline is the only
/// estimate of a duration, and that of a compile is long.
double weight(const core::StepKinds& kinds, const core::Step& step) {
    const core::StepKind* kind = kinds.find(step.kind);
    return kind ? static_cast<double>(kind->deadline.count()) : 1;
}

double whole(const core::StepKinds& kinds, const core::Transaction& transaction, const Action& action,
             double fraction) {
    fraction = std::clamp(fraction, 0.0, 1.0);
    if (action.phase == Phase::Preflight)
        return preflight_share * (static_cast<double>(action.step) + fraction) /
               static_cast<double>(transaction.preflights().size());
    double before = 0;
    double all = 0;
    const auto& steps = transaction.plan().steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const double of_step = weight(kinds, steps[i]);
        all += of_step;
        if (i < action.step)
            before += of_step;
        if (i == action.step)
            before += of_step * (action.phase == Phase::Undo ? 1 - fraction : fraction);
    }
    return preflight_share + (1 - preflight_share) * before / std::max(all, 1.0);
}

} // namespace

// --- requests

Result<std::uint64_t> Runner::start(core::Plan plan, core::Subject subject,
                                    std::vector<base::UniqueFd> inputs, bool check_only) {
    if (is_read_only_)
        return base::fail(Errc::Refused, "this system is open for reading only");
    if (current_)
        return base::fail(Errc::Busy,
                          "operation " + std::to_string(current_->operation.id) + " (" +
                              title(current_->operation) + ") runs",
                          "Wait for it with 'gpuhostctl operation wait " +
                              std::to_string(current_->operation.id) + "', or cancel it.");
    for (const core::Step& step : plan.steps)
        if (!kinds_.find(step.kind))
            return base::fail(Errc::Failed, "unknown step kind '" + step.kind + "'");
    Operation operation;
    operation.id = last_id_ + 1;
    Record begin = record(Record::Type::Begin);
    begin.boot_id = boot_id_;
    begin.preflights = preflight_groups(kinds_, plan);
    begin.check_only = check_only;
    begin.plan = std::move(plan);
    begin.subject = std::move(subject);
    GPUHOST_CHECK(operation.transaction.feed(begin));
    GPUHOST_CHECK(root_.make_directories(core::journal_directory, 0700));
    last_id_ = operation.id;
    GPUHOST_TRY(journal, core::Journal::create(root_, operation.id, begin));
    const std::string id = std::to_string(operation.id);
    log_asked(log::Level::Notice, message::operation_started, begin.subject, operation.id,
              "operation " + id + " started: " + begin.plan->title);
    current_.emplace(std::move(operation), std::move(journal));
    current_->inputs = std::move(inputs);
    if (listener_.added)
        listener_.added(current_->operation);
    // In the next iteration of the loop, so that the client receives the operation's id before the first
    // signal about it.
    later(std::chrono::seconds(0), [this] { advance(); });
    return last_id_;
}

Result<void> Runner::cancel(std::uint64_t id, const core::Subject& subject) {
    if (!current_ || current_->operation.id != id)
        return base::fail(find(id) ? Errc::InvalidArgument : Errc::NotFound,
                          "operation " + std::to_string(id) + " is not running");
    if (current_->operation.transaction.undoing() || current_->operation.transaction.cancelled())
        return {};
    if (current_->operation.transaction.past_return() || current_->operation.transaction.finished())
        return base::fail(Errc::Refused,
                          "operation " + std::to_string(id) + " has passed its point of no return",
                          "Wait for its end: gpuhostctl operation wait " + std::to_string(id) + ".");
    if (current_->stalled)
        return base::fail(Errc::NoSpace, "the journal can't be written", "Make room below /var/lib/gpuhost.");
    Record cancelled = record(Record::Type::Cancel);
    cancelled.error = Error{Errc::Cancelled, "cancelled by " + who(subject), {}};
    GPUHOST_CHECK(write(cancelled)); // without a record, the cancel fails and the client must repeat it
    log_asked(log::Level::Info, {}, subject, id, who(subject) + " cancels operation " + std::to_string(id));
    if (current_->worker) {
        current_->worker->stop();
        kill_if_cancelled();
    }
    say("cancelling");
    return {};
}

const Operation* Runner::find(std::uint64_t id) const {
    if (current_ && current_->operation.id == id)
        return &current_->operation;
    const auto found = ended_.find(id);
    return found == ended_.end() ? nullptr : &found->second;
}

std::vector<const Operation*> Runner::operations() const {
    std::vector<const Operation*> all;
    for (const auto& [id, operation] : ended_)
        all.push_back(&operation);
    if (current_)
        all.push_back(&current_->operation);
    return all;
}

// --- one transaction

void Runner::advance() {
    const Action action = current_->operation.transaction.next();
    if (action.type == Action::Type::End)
        end(action);
    else
        run(action);
}

void Runner::run(const Action& action) {
    if (current_->recover) {
        launch();
        return;
    }
    Record start = record(Record::Type::Start);
    start.phase = action.phase;
    start.step = action.step;
    start.last = last_of_group(action);
    append(std::move(start), [this, action] {
        ++current_->starts;
        if (!has_work(action) || (offline_ && needs_running_system(action)))
            pass_over(action);
        else
            launch();
    });
}

bool Runner::needs_running_system(const Action& action) const {
    if (action.phase == Phase::Preflight)
        return false;
    const core::StepKind* kind = kinds_.find(current_->operation.transaction.plan().steps[action.step].kind);
    return kind && kind->ends_with_boot;
}

bool Runner::changes_kernel(const Action& action) const {
    const core::StepKind* kind = kinds_.find(current_->operation.transaction.plan().steps[action.step].kind);
    return kind && kind->changes_kernel;
}

/// Returns false if the step's kind does not implement this phase, so that no worker is needed.
bool Runner::has_work(const Action& action) const {
    const core::StepKind* kind = kinds_.find(current_->operation.transaction.plan().steps[action.step].kind);
    return action.phase == Phase::Preflight || !kind ||
           (action.phase == Phase::Apply ? kind->has_apply : kind->has_undo);
}

/// Ends a phase without a worker: either the step kind does not implement the phase, or the step changes only
/// a running system and this system is offline. In the second case, an apply fails with Unsupported. After
/// the point of no return, the apply counts as done, because the next boot does the same from the selected
/// version.
void Runner::pass_over(const Action& action) {
    core::JobResult result;
    if (action.phase == Phase::Apply && has_work(action) && !current_->operation.transaction.past_return())
        result.error = Error{Errc::Unsupported, "this system is offline", {}};
    phase_ended(action, std::move(result));
}

/// Calls `then` after the pause, unless the transaction ends first, which drops the timer.
void Runner::later(std::chrono::seconds pause, const Event::Callback& then) {
    auto timer = pause.count() == 0 ? event_.soon(then) : event_.after(pause, then);
    if (timer)
        current_->next = *std::move(timer);
    else
        event_.exit(EXIT_FAILURE); // without a timer nothing continues: exit, and the next daemon resumes
}

void Runner::say_what(const Action& action) {
    show_fraction(action, 0);
    if (action.phase == Phase::Preflight)
        return say("checking");
    const core::Step& step = current_->operation.transaction.plan().steps[action.step];
    // An undo-only step does nothing yet, so the text of the step before stays.
    const std::string& forth = step.undo_only ? current_->operation.text : step.summary;
    say(action.phase == Phase::Undo ? "undoing: " + step.summary : forth);
}

/// Moves the progress of the operation to this part of an action. Rises; in an undo, falls.
void Runner::show_fraction(const Action& action, double fraction) {
    Operation& operation = current_->operation;
    const double now = whole(kinds_, operation.transaction, action, fraction);
    operation.progress = operation.transaction.undoing() ? std::min(operation.progress, now)
                                                         : std::max(operation.progress, now);
}

void Runner::progress(const core::JobProgress& made) {
    Operation& operation = current_->operation;
    show_fraction(operation.transaction.next(), made.fraction);
    if (!made.text.empty())
        operation.text = made.text;
    if (listener_.changed)
        listener_.changed(operation);
}

/// Records the end of a step whose worker has begun the next step. The worker does not wait for this record.
/// If the record can't be written, the worker stops after its present step, and the next record is written
/// after this one.
void Runner::step_ended(core::JobResult result) {
    Record ended = end_record(current_->operation.transaction.next(), std::move(result));
    ended.continues = true;
    if (!feed(ended))
        return;
    current_->unwritten.push_back(std::move(ended));
    (void)write_journal();
    if (current_->worker) {
        follow_step();
        kill_if_cancelled();
    }
    say_what(current_->operation.transaction.next());
}

void Runner::job_ended(JobEnd end) {
    current_->worker.reset();
    const core::Transaction& transaction = current_->operation.transaction;
    const Action action = transaction.next();
    core::JobResult& result = end.result;
    if (end.how == JobEnd::How::NotStarted) {
        not_started(action, *result.error);
        return;
    }
    if (end.how == JobEnd::How::Died && transaction.cancelled() && interruptible(action)) {
        result.error = Error{Errc::Cancelled, "cancelled", {}};
    } else if (end.how == JobEnd::How::Died) {
        const std::string id = std::to_string(current_->operation.id);
        log::event(log::Level::Warning, message::worker_died,
                   {{"GPUHOST_OPERATION_ID", id}, {"GPUHOST_JOB", current_->job}},
                   "worker '" + current_->job + "' died: " + result.error->message);
        if (transaction.attempts() < core::Transaction::max_attempts) {
            run_again(action);
            return;
        }
    }
    if (result.error && (action.phase == Phase::Undo || transaction.past_return())) {
        if (transaction.attempts() < core::Transaction::max_attempts && may_pass(*result.error)) {
            warn(result.error->message + ", trying again");
            run_again(action);
            return;
        }
        if (action.phase == Phase::Undo && changes_kernel(action) && is_cured_by_reboot(*result.error))
            result.error =
                Error{Errc::RebootRequired, result.error->message,
                      "Reboot; or stop the process that uses the driver, then run: gpuhostctl apply"};
    }
    Record ended = end_record(action, std::move(result));
    if (end.how == JobEnd::How::Violated)
        ended.last = transaction.last();
    append(std::move(ended), [this] { advance(); });
}

/// Returns true after Timeout and NoSpace, because another attempt may succeed. For NoSpace, deletes the
/// journal's reserve to free disk space.
bool Runner::may_pass(const Error& error) const {
    if (error.code == Errc::NoSpace)
        (void)core::release_journal_reserve(root_);
    return error.code == Errc::NoSpace || error.code == Errc::Timeout;
}

void Runner::phase_ended(const Action& action, core::JobResult result) {
    append(end_record(action, std::move(result)), [this] { advance(); });
}

Record Runner::end_record(const Action& action, core::JobResult result) {
    current_->waiting_for.clear();
    current_->refused_launches = 0;
    for (const std::string& warning : base::strings_or_empty(result.output, "warnings"))
        warn(warning);
    const std::string id = std::to_string(current_->operation.id);
    for (const std::string& processes : base::strings_or_empty(result.output, "terminated"))
        log::notice("operation " + id + ": terminated " + processes, {{"GPUHOST_OPERATION_ID", id}});
    Record ended = record(result.error || !result.problems.empty() ? Record::Type::Fail : Record::Type::Done);
    ended.phase = action.phase;
    ended.step = ended.last = action.step;
    ended.output = std::move(result.output);
    ended.problems = std::move(result.problems);
    ended.error = std::move(result.error);
    return ended;
}

// --- the end

void Runner::end(const Action& action) {
    Record last = record(Record::Type::End);
    last.outcome = action.outcome;
    last.error = action.error;
    append(std::move(last), [this] { finish(); });
}

void Runner::finish() {
    // First clear current_, because a listener may start the next operation.
    auto ended = std::exchange(current_, std::nullopt);
    Operation& operation = ended->operation;
    remove_files_of(operation.id);
    const Outcome outcome = *operation.transaction.outcome();
    operation.progress = 1;
    operation.text = operation.transaction.error() ? operation.transaction.error()->message : "";
    const std::string id = std::to_string(operation.id);
    const bool bad = outcome == Outcome::Incomplete || outcome == Outcome::RebootRequired;
    log::event(bad ? log::Level::Error : log::Level::Notice, message_of(outcome),
               {{"GPUHOST_OPERATION_ID", id}, {"GPUHOST_OUTCOME", std::string(core::name(outcome))}},
               "operation " + id + " (" + title(operation) + ") ended: " + std::string(core::name(outcome)) +
                   (operation.text.empty() ? "" : ": " + operation.text));
    const auto [place, inserted] = ended_.emplace(operation.id, std::move(operation));
    if (listener_.ended)
        listener_.ended(place->second);
    prune();
    resume_next();
}

void Runner::warn(const std::string& text) const {
    const std::string id = std::to_string(current_->operation.id);
    log::warning("operation " + id + ": " + text, {{"GPUHOST_OPERATION_ID", id}});
}

void Runner::say(const std::string& text) {
    current_->operation.text = text;
    if (listener_.changed)
        listener_.changed(current_->operation);
}

} // namespace gpuhost::host
