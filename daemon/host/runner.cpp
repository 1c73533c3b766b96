// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/runner.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/messages.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/host/sandbox.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/file.h>

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

std::string staging_of(std::uint64_t id) {
    return std::string(core::staging_directory) + "/" + std::to_string(id);
}

std::string job_of(std::uint64_t id, unsigned starts, unsigned attempt) {
    return std::to_string(id) + "-" + std::to_string(starts) + "-" + std::to_string(attempt);
}

std::string_view message_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::Committed:
    case Outcome::Checked:
        return message::operation_committed;
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

/// What came from outside is never looked at with privileges, so each unprivileged sandbox has a preflight
/// worker of its own. All other steps share one, which starts once.
std::vector<std::vector<std::size_t>> preflight_groups(const core::StepKinds& kinds, const core::Plan& plan) {
    std::map<std::optional<core::Sandbox>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const core::StepKind* kind = kinds.find(plan.steps[i].kind);
        if (kind && kind->preflight)
            groups[user_of(kind->sandbox).empty() ? std::nullopt : std::optional(kind->sandbox)].push_back(i);
    }
    std::vector<std::vector<std::size_t>> made;
    for (auto& [sandbox, group] : groups)
        made.push_back(std::move(group));
    return made;
}

/// Of steps that share a worker: the sandbox that sees the whole host, if one needs that.
core::Sandbox sandbox_for(const std::vector<core::Sandbox>& steps) {
    if (std::find(steps.begin(), steps.end(), core::Sandbox::Modules) != steps.end())
        return core::Sandbox::Modules;
    return steps.empty() ? core::Sandbox::Store : *std::max_element(steps.begin(), steps.end());
}

/// How much of the whole a step is: its deadline is the only forecast there is, and a compile's is long.
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

// --- what a daemon before this one left

/// Two daemons over one journal would each undo what the other does. The kernel drops the lock with its holder.
Result<void> Runner::lock_journal() {
    GPUHOST_CHECK(root_.make_directories(core::journal_directory, 0700));
    GPUHOST_TRY(directory, root_.open_file(core::journal_directory, O_RDONLY | O_DIRECTORY));
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? base::fail(Errc::Busy, "another gpuhostd works on '" + root_.directory() + "'",
                                "Stop it first: systemctl stop gpuhostd.")
                   : base::fail_errno(core::journal_directory, errno);
    lock_ = std::move(directory);
    return {};
}

Result<void> Runner::resume() {
    GPUHOST_CHECK(lock_journal());
    GPUHOST_TRY(ids, core::list_journals(root_));
    for (const std::uint64_t id : ids) {
        last_id_ = std::max(last_id_, id);
        // The host's truth is observed, not remembered: a journal that rotted costs its history, nothing
        // else.
        if (auto loaded = load(id); !loaded)
            log::warning("can't read the journal of operation " + std::to_string(id) + ": " +
                         loaded.error().message + ", ignoring");
    }
    if (auto pruned = core::prune_journals(root_, kept); !pruned)
        log::warning("can't remove old journals: " + pruned.error().message + ", ignoring");
    while (ended_.size() > kept)
        ended_.erase(ended_.begin());
    remove_leftovers();
    resume_next();
    return {};
}

/// What a transaction kept while it ran: its staging directory, and its jobs' files with those of attempts
/// that died.
void Runner::remove_files_of(std::uint64_t id) {
    doomed_.push_back(staging_of(id));
    for (const auto& job : root_.list(core::jobs_directory).value_or(std::vector<std::string>()))
        if (base::starts_with(job, std::to_string(id) + "-"))
            doomed_.push_back(core::job_directory(job));
    remove_doomed();
}

/// A compiler's tree has thousands of files: a portion each turn of the loop.
void Runner::remove_doomed() {
    constexpr std::size_t portion = 256;
    while (!doomed_.empty()) {
        const std::string& path = doomed_.front();
        const auto gone = root_.remove_some(path, portion);
        if (gone && !*gone) {
            auto later = event_.soon([this] { remove_doomed(); });
            if (later)
                remover_ = *std::move(later);
            return;
        }
        if (!gone)
            log::warning("can't remove '" + path + "': " + gone.error().message + ", ignoring");
        doomed_.pop_front();
    }
}

/// A daemon that died at its transaction's end may have left what the transaction kept.
void Runner::remove_leftovers() {
    std::vector<std::string> names = root_.list(core::staging_directory).value_or(std::vector<std::string>());
    const auto jobs = root_.list(core::jobs_directory).value_or(std::vector<std::string>());
    names.insert(names.end(), jobs.begin(), jobs.end());
    for (const std::string& name : names) {
        const auto id = base::parse_uint(std::string_view(name).substr(0, name.find('-')));
        if (id && std::none_of(unfinished_.begin(), unfinished_.end(),
                               [&](const Current& left) { return left.operation.id == *id; }))
            remove_files_of(*id);
    }
}

Result<void> Runner::load(std::uint64_t id) {
    GPUHOST_TRY(records, core::read_journal(root_, id));
    Operation operation;
    operation.id = id;
    unsigned starts = 0;
    for (const Record& record : records) {
        GPUHOST_CHECK(operation.transaction.feed(record));
        starts += record.type == Record::Type::Start ? 1 : 0;
    }
    if (records.empty())
        return base::fail(Errc::BadContent, "empty");
    if (operation.transaction.outcome()) {
        operation.progress = 1;
        ended_.emplace(id, std::move(operation));
        return {};
    }
    GPUHOST_TRY(journal, core::Journal::open(root_, id));
    Current left(std::move(operation), std::move(journal));
    left.starts = starts;
    unfinished_.push_back(std::move(left));
    return {};
}

void Runner::resume_next() {
    if (current_ || unfinished_.empty())
        return;
    current_ = std::move(unfinished_.front());
    unfinished_.pop_front();
    const core::Transaction& transaction = current_->operation.transaction;
    // Only in the same boot can a worker still be there.
    current_->adopt = transaction.in_flight() && transaction.boot_id() == boot_id_;
    const std::string id = std::to_string(current_->operation.id);
    log::event(log::Level::Notice, message::operation_resumed, {{"GPUHOST_OPERATION_ID", id}},
               "operation " + id + " (" + transaction.plan().title + ") was interrupted, taking it up again");
    Record resumed = record(Record::Type::Resume);
    resumed.boot_id = boot_id_;
    append(std::move(resumed), [this] {
        // Going back right away (after a reboot, or worn out): there is no phase to wait for.
        current_->adopt = current_->adopt && current_->operation.transaction.in_flight();
        advance();
    });
}

// --- requests

Result<std::uint64_t> Runner::start(core::Plan plan, core::Subject subject,
                                    std::vector<base::UniqueFd> inputs, bool check_only) {
    if (current_)
        return base::fail(Errc::Busy,
                          "operation " + std::to_string(current_->operation.id) + " (" +
                              current_->operation.transaction.plan().title + ") runs",
                          "Wait for it with 'gpuhostctl operation wait " +
                              std::to_string(current_->operation.id) + "', or cancel it.");
    for (const core::Step& step : plan.steps)
        if (!kinds_.find(step.kind))
            return base::fail(Errc::Failed, "no step kind '" + step.kind + "'");
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
    log::event(log::Level::Notice, message::operation_started, {{"GPUHOST_OPERATION_ID", id}},
               "operation " + id + " started: " + begin.plan->title);
    current_.emplace(std::move(operation), std::move(journal));
    current_->inputs = std::move(inputs);
    if (listener_.added)
        listener_.added(current_->operation);
    // On the next turn: the caller's answer comes before the first signal about it.
    later(std::chrono::seconds(0), [this] { advance(); });
    return last_id_;
}

Result<void> Runner::cancel(std::uint64_t id, const core::Subject& subject) {
    if (!current_ || current_->operation.id != id)
        return base::fail(find(id) ? Errc::InvalidArgument : Errc::NotFound,
                          "operation " + std::to_string(id) + " does not run");
    if (current_->operation.transaction.undoing() || current_->operation.transaction.cancelled())
        return {};
    if (current_->stalled)
        return base::fail(Errc::NoSpace, "the journal can't be written", "Make room below /var/lib/gpuhost.");
    Record cancelled = record(Record::Type::Cancel);
    cancelled.error = Error{
        Errc::Cancelled, "cancelled by " + subject.command + " of user " + std::to_string(subject.uid), {}};
    append(std::move(cancelled), [this] {
        const Action action = current_->operation.transaction.next();
        if (current_->worker && interruptible(action))
            current_->worker->kill();
        say("cancelling");
    });
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

bool Runner::reboot_required() const {
    return std::any_of(ended_.begin(), ended_.end(), [this](const auto& entry) {
        const core::Transaction& transaction = entry.second.transaction;
        return transaction.outcome() == Outcome::RebootRequired && transaction.boot_id() == boot_id_;
    });
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
    if (current_->adopt) {
        launch(action);
        return;
    }
    Record start = record(Record::Type::Start);
    start.phase = action.phase;
    start.step = action.step;
    append(std::move(start), [this, action] {
        ++current_->starts;
        launch(action);
    });
}

void Runner::launch(const Action& action) {
    const core::Transaction& transaction = current_->operation.transaction;
    say(action.phase == Phase::Preflight ? "checking"
                                         : (action.phase == Phase::Undo ? "going back: " : "") +
                                               transaction.plan().steps[action.step].summary);
    JobCallbacks callbacks;
    callbacks.progress = [this](const core::JobProgress& made) { progress(made); };
    callbacks.ended = [this, action](JobEnd end) { job_ended(action, std::move(end)); };
    std::vector<int> inputs;
    for (const auto& input : current_->inputs)
        inputs.push_back(input.get());
    const Launch launch = make_launch(action);
    const bool adopt = std::exchange(current_->adopt, false);
    auto prepared = prepare_staging();
    auto worker = !prepared ? tl::unexpected<Error>(prepared.error())
                  : adopt   ? launcher_.adopt(launch, std::move(callbacks))
                            : launcher_.start(launch, inputs, std::move(callbacks));
    if (!worker) {
        current_->adopt = adopt; // the worker from before may still be at it: never a second one beside it
        not_started(action, worker.error().context("starting a worker"));
        return;
    }
    current_->worker = *std::move(worker);
    if (transaction.cancelled() && interruptible(action))
        current_->worker->kill();
}

/// No memory, no descriptors, no room in /run, a busy service manager: none lasts, and to go back is worth
/// waiting for. What has not begun yet gives up after a while.
void Runner::not_started(const Action& action, const Error& error) {
    constexpr std::chrono::seconds pause{2};
    log::warning(error.message + ", trying again");
    if (action.phase == Phase::Undo) {
        say("waiting to go back: " + error.message);
        later(pause, [this, action] { launch(action); });
        return;
    }
    if (current_->operation.transaction.attempts() < core::Transaction::max_attempts &&
        !current_->operation.transaction.cancelled()) {
        say("waiting: " + error.message);
        later(pause, [this, action] { run(action); });
        return;
    }
    JobEnd end;
    end.result.error = error;
    job_ended(action, std::move(end));
}

/// The running transaction's next move, unless it ends before.
void Runner::later(std::chrono::seconds pause, Event::Callback then) {
    auto timer = pause.count() == 0 ? event_.soon(then) : event_.after(pause, then);
    if (timer)
        current_->next = *std::move(timer);
    else
        event_.exit(1); // without the loop nothing goes on; the next daemon takes it up
}

Launch Runner::make_launch(const Action& action) const {
    const core::Transaction& transaction = current_->operation.transaction;
    const auto& steps = transaction.plan().steps;
    Launch launch;
    launch.request.job = job_of(current_->operation.id, current_->starts, transaction.attempts());
    launch.request.phase = action.phase;
    launch.request.settings = settings_;
    launch.request.boot_id = boot_id_;
    launch.request.staging = staging_of(current_->operation.id);
    launch.request.inputs = current_->inputs.size();
    if (action.phase == Phase::Preflight)
        for (const std::size_t step : transaction.preflights()[action.step])
            launch.request.steps.push_back(steps[step]);
    else
        launch.request.steps = {steps[action.step]};
    std::vector<core::Sandbox> sandboxes;
    for (const core::Step& step : launch.request.steps)
        if (const core::StepKind* kind = kinds_.find(step.kind)) {
            sandboxes.push_back(kind->sandbox);
            launch.deadline = std::max(launch.deadline, kind->deadline);
            if (action.phase != Phase::Preflight)
                launch.writable = kind->writable;
        }
    launch.sandbox = sandbox_for(sandboxes);
    return launch;
}

/// Handed to the workers' user until the first of them has begun: a later step may have taken it over.
Result<void> Runner::prepare_staging() const {
    const core::Transaction& transaction = current_->operation.transaction;
    const std::string path = staging_of(current_->operation.id);
    for (const core::Step& step : transaction.plan().steps) {
        const core::StepKind* kind = kinds_.find(step.kind);
        if (!kind || user_of(kind->sandbox).empty() || (transaction.touched() && root_.exists(path)))
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

void Runner::progress(const core::JobProgress& made) {
    Operation& operation = current_->operation;
    const double now = whole(kinds_, operation.transaction, operation.transaction.next(), made.fraction);
    operation.progress = operation.transaction.undoing() ? std::min(operation.progress, now)
                                                         : std::max(operation.progress, now);
    if (!made.text.empty())
        operation.text = made.text;
    if (listener_.changed)
        listener_.changed(operation);
}

void Runner::job_ended(const Action& action, JobEnd end) {
    current_->worker.reset();
    const core::Transaction& transaction = current_->operation.transaction;
    const std::string job = job_of(current_->operation.id, current_->starts, transaction.attempts());
    core::JobResult& result = end.result;
    const bool cancelled = transaction.cancelled() && interruptible(action);
    if (end.died && !cancelled) {
        log::event(log::Level::Warning, message::worker_died,
                   {{"GPUHOST_OPERATION_ID", std::to_string(current_->operation.id)}, {"GPUHOST_JOB", job}},
                   "worker '" + job + "' died: " + result.error->message);
        if (transaction.attempts() < core::Transaction::max_attempts) {
            run(action);
            return;
        }
    }
    for (const std::string& warning : base::strings_or_empty(result.output, "warnings"))
        log::warning("operation " + std::to_string(current_->operation.id) + ": " + warning);
    Record ended = record(result.error || !result.problems.empty() ? Record::Type::Fail : Record::Type::Done);
    ended.phase = action.phase;
    ended.step = action.step;
    ended.output = std::move(result.output);
    ended.problems = std::move(result.problems);
    ended.error = end.died && cancelled ? Error{Errc::Cancelled, "cancelled", {}} : std::move(result.error);
    append(std::move(ended), [this] { advance(); });
}

// --- the end

void Runner::end(const Action& action) {
    Record last = record(Record::Type::End);
    last.outcome = action.outcome;
    last.error = action.error;
    append(std::move(last), [this] { finish(); });
}

void Runner::finish() {
    // Out of the way first: whoever hears of the end may start the next one.
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
               "operation " + id + " (" + operation.transaction.plan().title + ") ended: " +
                   std::string(core::name(outcome)) + (operation.text.empty() ? "" : ": " + operation.text));
    const auto [place, inserted] = ended_.emplace(operation.id, std::move(operation));
    if (listener_.ended)
        listener_.ended(place->second);
    if (ended_.size() > kept)
        ended_.erase(ended_.begin());
    if (auto pruned = core::prune_journals(root_, kept); !pruned)
        log::warning("can't remove old journals: " + pruned.error().message + ", ignoring");
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

/// Nothing is done that the journal does not announce, so a full disk holds the transaction where it is, and
/// it goes on when there is room again.
void Runner::append(Record made, std::function<void()> then) {
    constexpr std::chrono::seconds pause{5};
    core::Transaction next = current_->operation.transaction;
    if (auto fed = next.feed(made); !fed) {
        // Written, it would leave a journal that nobody can take up again.
        log::error("broken invariant: " + fed.error().message);
        event_.exit(1);
        return;
    }
    auto written = current_->journal.append(made);
    current_->stalled = !written;
    if (!written) {
        log::error("can't write the journal, trying again: " + written.error().message);
        say("waiting: the journal can't be written: " + written.error().message);
        auto again = event_.after(
            pause, [this, made = std::move(made), then = std::move(then)] { append(made, then); });
        if (again)
            current_->retry = *std::move(again);
        return;
    }
    current_->operation.transaction = std::move(next);
    then();
}

void Runner::say(const std::string& text) {
    current_->operation.text = text;
    if (listener_.changed)
        listener_.changed(current_->operation);
}

} // namespace gpuhost::host
