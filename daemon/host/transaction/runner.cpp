// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/runner.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/messages.hpp"
#include "daemon/host/transaction/audit.hpp"
#include "daemon/host/worker/job_files.hpp"
#include "daemon/host/worker/sandbox.hpp"

#include <algorithm>
#include <cerrno>

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

std::string job_of(std::uint64_t id, unsigned starts, unsigned attempt) {
    return std::to_string(id) + "-" + std::to_string(starts) + "-" + std::to_string(attempt);
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
    case Outcome::RolledBack:
        return message::operation_rolled_back;
    case Outcome::Failed:
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

/// Starts the worker of the group in flight. The worker may report the ends of steps immediately, so another
/// step may be in flight when launch() returns.
void Runner::launch() {
    const core::Transaction& transaction = current_->operation.transaction;
    if (current_->waiting_for.empty())
        say_what(transaction.next());
    current_->job = job_in_flight();
    JobCallbacks callbacks;
    callbacks.progress = [this](const core::JobProgress& made) { progress(made); };
    callbacks.ended = [this](JobEnd end) { job_ended(std::move(end)); };
    callbacks.step = [this](core::JobResult result) { step_ended(std::move(result)); };
    const std::size_t first = transaction.next().step;
    auto worker = start_or_recover(make_launch(transaction.next()), std::move(callbacks));
    if (!worker) {
        not_started(transaction.next(), worker.error().context("starting a worker"));
        return;
    }
    current_->worker = *std::move(worker);
    if (transaction.next().step != first)
        follow_step();
    kill_if_cancelled();
}

/// Called when the worker has begun another step: sets the deadline of this step. If records are unwritten,
/// the worker must stop after this step.
void Runner::follow_step() {
    if (!current_->unwritten.empty())
        current_->worker->stop();
    current_->worker->set_deadline(need_of(current_->operation.transaction.next()).deadline);
}

/// Kills the worker of a cancelled operation, if its step may be interrupted.
void Runner::kill_if_cancelled() {
    const core::Transaction& transaction = current_->operation.transaction;
    if (current_->worker && transaction.cancelled() && interruptible(transaction.next()))
        current_->worker->kill();
}

void Runner::say_what(const Action& action) {
    show_fraction(action, 0);
    say(action.phase == Phase::Preflight
            ? "checking"
            : (action.phase == Phase::Undo ? "undoing: " : "") +
                  current_->operation.transaction.plan().steps[action.step].summary);
}

Result<std::unique_ptr<Worker>> Runner::start_or_recover(const Launch& launch, JobCallbacks callbacks) {
    if (current_->recover) {
        auto worker = launcher_.recover(launch, std::move(callbacks));
        // If recover() fails, it must be repeated: the old worker may still run, and a second worker must not
        // run beside it.
        current_->recover = !worker;
        return worker;
    }
    GPUHOST_CHECK(prepare_staging());
    std::vector<int> inputs;
    for (const auto& input : current_->inputs)
        inputs.push_back(input.get());
    return launcher_.start(launch, inputs, std::move(callbacks));
}

/// Handles a failed start of a worker. The causes are temporary: no memory, descriptors or space in /run, or
/// systemd is busy or shuts the host down. The start of an undo, or the recovery of an old worker, is
/// repeated without a limit. After the point of no return, the start is repeated most_refused_launches times,
/// because later steps run even without this step. Any other step fails after a few attempts.
void Runner::not_started(const Action& action, const Error& error) {
    const core::Transaction& transaction = current_->operation.transaction;
    const bool past_return = transaction.past_return();
    if (action.phase == Phase::Undo || current_->recover ||
        (past_return && ++current_->refused_launches < most_refused_launches))
        wait(error.message, [this] { launch(); });
    else if (!past_return && transaction.attempts() < core::Transaction::max_attempts &&
             !transaction.cancelled())
        wait(error.message, [this, action] { run_again(action); });
    else
        phase_ended(action, {error, {}, {}});
}

void Runner::wait(const std::string& why, const Event::Callback& then) {
    if (std::exchange(current_->waiting_for, why) != why) {
        warn(why + ", trying again");
        say("waiting: " + why);
    }
    later(launch_pause_, then);
}

/// Repeats the action, unless the operation was cancelled since the last attempt.
void Runner::run_again(const Action& action) {
    if (current_->operation.transaction.cancelled() && action.phase != Phase::Undo)
        phase_ended(action, {Error{Errc::Cancelled, "cancelled", {}}, {}, {}});
    else
        run(action);
}

/// Calls `then` after the pause, unless the transaction ends first, which drops the timer.
void Runner::later(std::chrono::seconds pause, const Event::Callback& then) {
    auto timer = pause.count() == 0 ? event_.soon(then) : event_.after(pause, then);
    if (timer)
        current_->next = *std::move(timer);
    else
        event_.exit(EXIT_FAILURE); // without a timer nothing continues: exit, and the next daemon resumes
}

/// Returns the name of the job of the newest Start record. For a job that an earlier daemon started, finds
/// the name on disk, because it contains the attempts of the job's first step, not of the step in flight.
std::string Runner::job_in_flight() const {
    const std::uint64_t id = current_->operation.id;
    std::string newest = current_->recover ? newest_job(root_, id) : "";
    if (start_of(newest) == current_->starts)
        return newest;
    return job_of(id, current_->starts, current_->operation.transaction.attempts());
}

std::vector<std::size_t> Runner::steps_of(const Action& action) const {
    if (action.phase == Phase::Preflight)
        return current_->operation.transaction.preflights()[action.step];
    return {action.step};
}

Runner::Need Runner::need_of(const Action& action) const {
    Need need;
    std::vector<core::Sandbox> sandboxes;
    for (const std::size_t step : steps_of(action))
        if (const core::StepKind* kind =
                kinds_.find(current_->operation.transaction.plan().steps[step].kind)) {
            sandboxes.push_back(kind->sandbox);
            need.deadline = std::max(need.deadline, kind->deadline);
        }
    need.sandbox = widest(sandboxes);
    return need;
}

/// Returns true if the worker of this apply may also run the applies of other steps, one after the other.
bool Runner::is_groupable(const Action& action) const {
    return action.phase == Phase::Apply && serves_many(need_of(action).sandbox) && current_->inputs.empty() &&
           has_work(action) && !(offline_ && needs_running_system(action));
}

/// Returns the last step that the worker of `action` runs. Consecutive steps with the same sandbox are a
/// group. A `forward` step is the first of its group, because only its Start record tells that it may have
/// begun. A step that a cancel may kill is the last of its group. Otherwise the worker may have begun the
/// next step when it is killed.
std::size_t Runner::last_of_group(Action action) const {
    const auto& steps = current_->operation.transaction.plan().steps;
    const auto& states = current_->operation.transaction.states();
    const core::Sandbox sandbox = need_of(action).sandbox;
    while (is_groupable(action) && !interruptible(action) && action.step + 1 < steps.size()) {
        Action next = action;
        ++next.step;
        if (steps[next.step].forward || states[next.step] != core::StepState::Pending ||
            !is_groupable(next) || need_of(next).sandbox != sandbox)
            break;
        action = next;
    }
    return action.step;
}

Launch Runner::make_launch(const Action& action) const {
    const auto& steps = current_->operation.transaction.plan().steps;
    const Need need = need_of(action);
    Launch launch;
    launch.request.job = current_->job;
    launch.request.phase = action.phase;
    launch.request.settings = settings_;
    launch.request.boot_id = boot_id_;
    launch.request.staging = core::staging_of(current_->operation.id);
    launch.request.inputs = current_->inputs.size();
    for (const std::size_t step : steps_of(action))
        launch.request.steps.push_back(steps[step]);
    for (Action next = action;
         next.phase == Phase::Apply && next.step < current_->operation.transaction.last();) {
        launch.request.steps.push_back(steps[++next.step]);
        launch.more += need_of(next).deadline;
    }
    launch.recorded = current_->operation.transaction.continued();
    if (const core::StepKind* kind = kinds_.find(steps[action.step].kind);
        kind && action.phase != Phase::Preflight)
        launch.writable = kind->writable;
    launch.sandbox = need.sandbox;
    launch.deadline = need.deadline;
    return launch;
}

/// Creates the staging directory, owned by the user of the sandbox that writes it. Once a step has begun, an
/// existing directory stays unchanged, because a step may have changed its owner.
Result<void> Runner::prepare_staging() const {
    const core::Transaction& transaction = current_->operation.transaction;
    const std::string path = core::staging_of(current_->operation.id);
    for (const core::Step& step : transaction.plan().steps) {
        const core::StepKind* kind = kinds_.find(step.kind);
        if (!kind || (transaction.touched() && root_.exists(path)))
            continue;
        // root owns the directory: a unit with the sandbox Sign may write it, but not create it.
        if (kind->sandbox == core::Sandbox::Sign)
            GPUHOST_CHECK(root_.make_directories(path, 0755));
        if (user_of(kind->sandbox).empty())
            continue;
        GPUHOST_TRY(owner, launcher_.owner(kind->sandbox));
        GPUHOST_CHECK(root_.make_directories(path, 0755));
        GPUHOST_TRY(directory, root_.open_file(path, O_RDONLY | O_DIRECTORY));
        if (::fchown(directory.get(), owner.uid, owner.gid) < 0)
            return base::fail_errno(path, errno);
    }
    return {};
}

bool Runner::interruptible(const Action& action) const {
    if (action.phase != Phase::Apply)
        return action.phase == Phase::Preflight;
    const core::StepKind* kind = kinds_.find(current_->operation.transaction.plan().steps[action.step].kind);
    return kind && kind->interruptible;
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
    const bool bad = outcome == Outcome::Failed || outcome == Outcome::RebootRequired;
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

// --- the journal

Record Runner::record(Record::Type type) const {
    Record made;
    made.type = type;
    made.t_us = base::monotonic_us();
    made.time_us = base::realtime_us();
    return made;
}

Result<void> Runner::feed(const Record& made) {
    auto fed = current_->operation.transaction.feed(made);
    if (!fed) {
        // No daemon could resume from a journal with this record, so do not write it.
        log::error("broken invariant: " + fed.error().message);
        event_.exit(EXIT_FAILURE);
    }
    return fed;
}

Result<void> Runner::write(const Record& made) {
    const core::Transaction before = current_->operation.transaction;
    GPUHOST_CHECK(feed(made));
    current_->unwritten.push_back(made);
    auto written = write_journal();
    if (!written) {
        current_->unwritten.pop_back();
        current_->operation.transaction = before;
    }
    return written;
}

/// Writes all unwritten records, oldest first.
Result<void> Runner::write_journal() {
    while (!current_->unwritten.empty()) {
        GPUHOST_CHECK(current_->journal.append(current_->unwritten.front()));
        current_->unwritten.pop_front();
    }
    return {};
}

/// Writes a record to the journal, then calls `then`. No action runs before its record is written. If the
/// write fails, it is repeated after a pause. After most_journal_failures attempts the transaction continues
/// without the journal, see continue_unwritten().
void Runner::append(Record made, std::function<void()> then) {
    const auto written = write(made);
    current_->stalled = !written;
    if (written) {
        current_->journal_failures = 0;
        then();
        return;
    }
    if (++current_->journal_failures == 1)
        warn("can't write the journal, trying again: " + written.error().message);
    say("waiting: the journal can't be written: " + written.error().message);
    if (current_->journal_failures > most_journal_failures && made.type != Record::Type::End)
        continue_unwritten(std::move(made), written.error(), then);
    else
        later(journal_pause_, [this, made = std::move(made), then = std::move(then)] { append(made, then); });
}

/// Continues without the journal: undoes the transaction or, after the point of no return, completes it.
/// Keeps the records in memory. Waiting longer would leave the host half changed, without a working driver.
/// If the daemon restarts before the records are written, it undoes or completes the transaction again, since
/// every step converges: see go_back_if_unrecorded(). Only for an End record does the daemon wait without
/// a limit, because no other operation may begin before the journal records the end of this one.
void Runner::continue_unwritten(Record made, const Error& why, const std::function<void()>& then) {
    const core::Transaction& transaction = current_->operation.transaction;
    const bool goes_on = transaction.undoing() || transaction.past_return() || transaction.finished();
    // True if `made` starts a phase that must not run.
    const bool begins = made.type == Record::Type::Start && !goes_on;
    if (begins) {
        made.type = Record::Type::Fail;
        made.last = made.step;
        made.error = why;
    }
    std::vector<Record> records;
    if (!begins || transaction.in_flight())
        records.push_back(std::move(made));
    if (!goes_on) {
        records.push_back(record(Record::Type::Cancel));
        records.back().error = why.context("the journal can't be written");
    }
    for (Record& each : records) {
        if (!feed(each))
            return;
        current_->unwritten.push_back(std::move(each));
    }
    current_->stalled = false;
    begins ? advance() : then();
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
