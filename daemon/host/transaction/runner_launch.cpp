// SPDX-License-Identifier: Apache-2.0
// The part of Runner that starts the workers of an action's steps.
#include "daemon/host/transaction/runner.hpp"
#include "daemon/host/worker/job_files.hpp"
#include "daemon/host/worker/sandbox.hpp"

#include <algorithm>
#include <cerrno>

namespace gpuhost::host {

using base::Errc;
using base::Error;
using base::Result;
using core::Action;
using core::Phase;

namespace {

std::string job_of(std::uint64_t id, unsigned starts, unsigned attempt) {
    return std::to_string(id) + "-" + std::to_string(starts) + "-" + std::to_string(attempt);
}

} // namespace

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

} // namespace gpuhost::host
