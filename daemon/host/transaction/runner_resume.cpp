// SPDX-License-Identifier: Apache-2.0
// The part of Runner that runs at start: it resumes unfinished operations and removes files that they left.
#include "daemon/base/messages.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/host/transaction/runner.hpp"
#include "daemon/host/worker/job_files.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <sys/file.h>

namespace gpuhost::host {

namespace log = base::log;
namespace message = base::message;
using base::Errc;
using base::Result;
using core::Outcome;
using core::Record;

/// Locks the journal directory, because two daemons on one journal would each undo the other's work. The
/// kernel releases the lock when this process exits.
Result<void> Runner::lock_journal() {
    GPUHOST_CHECK(root_.make_directories(core::journal_directory, 0700));
    core::keep_journal_reserve(root_);
    GPUHOST_TRY(directory, root_.open_file(core::journal_directory, O_RDONLY | O_DIRECTORY));
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? base::fail(Errc::Busy, "another gpuhostd is running on this system",
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
        GPUHOST_CHECK(load(id));
    }
    prune();
    remove_leftovers();
    resume_next();
    return {};
}

Result<void> Runner::inspect() {
    is_read_only_ = true;
    GPUHOST_TRY(ids, core::list_journals(root_));
    for (const std::uint64_t id : ids)
        GPUHOST_CHECK(load(id));
    return {};
}

/// Removes a transaction's staging directory, and the directories of all its jobs.
void Runner::remove_files_of(std::uint64_t id) {
    sweeper_.remove(core::staging_of(id));
    for (const auto& job : root_.list(core::jobs_directory).value_or(std::vector<std::string>()))
        if (base::starts_with(job, std::to_string(id) + "-"))
            sweeper_.remove(core::job_directory(job));
}

/// Removes files of ended transactions. They remain if a daemon dies right after a transaction's End record.
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

/// Reads one journal, and lists its operation as ended or unfinished. Ignores a corrupt journal: only its
/// history is lost, because plans are made from the observed state of the host.
Result<void> Runner::load(std::uint64_t id) {
    Operation operation;
    operation.id = id;
    unsigned starts = 0;
    const auto read = [&]() -> Result<void> {
        GPUHOST_TRY(records, core::read_journal(root_, id));
        if (records.empty())
            return base::fail(Errc::BadContent, "empty");
        for (const Record& record : records) {
            GPUHOST_CHECK(operation.transaction.feed(record));
            starts += record.type == Record::Type::Start ? 1 : 0;
        }
        return {};
    }();
    if (!read && read.error().code == Errc::Unsupported)
        return base::fail(Errc::Unsupported,
                          "operation " + std::to_string(id) +
                              " of a newer version of gpuhostd is not finished",
                          "Install that version again, and wait until the operation ends.");
    if (!read && read.error().code != Errc::BadContent)
        return base::fail(read.error());
    if (!read) {
        log::warning("can't read the journal of operation " + std::to_string(id) + ": " +
                     read.error().message + ", ignoring");
        unreadable_.insert(id);
        return {};
    }
    if (operation.transaction.outcome() || is_read_only_) {
        operation.progress = operation.transaction.outcome() ? 1 : 0;
        if (!operation.transaction.outcome())
            log::notice("operation " + std::to_string(id) + " (" + operation.transaction.plan().title +
                        ") was interrupted, and is undone before any other change");
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
    // A worker from an earlier boot no longer runs.
    current_->operation.of_earlier_boot = transaction.boot_id() != boot_id_;
    current_->recover = transaction.in_flight() && !current_->operation.of_earlier_boot;
    const std::string id = std::to_string(current_->operation.id);
    log::event(log::Level::Notice, message::operation_resumed, {{"GPUHOST_OPERATION_ID", id}},
               "operation " + id + " (" + transaction.plan().title + ") was interrupted, resuming it");
    Record resumed = record(Record::Type::Resume);
    resumed.boot_id = boot_id_;
    append(std::move(resumed), [this] {
        if (current_->operation.transaction.undoing())
            current_->operation.progress = 1; // an undo counts down
        // Recover a worker only if the phase is still in flight after this record.
        current_->recover = current_->recover && current_->operation.transaction.in_flight();
        await_leftover([this] { go_back_if_unrecorded(); });
    });
}

/// Waits until a worker without a Start record has exited, so that no second worker runs beside it; see
/// continue_unwritten(). Does not wait if the newest job belongs to the phase in flight, because the worker
/// of that job is recovered instead.
void Runner::await_leftover(const Event::Callback& then) {
    constexpr std::chrono::seconds to_end{10};
    const std::string job = newest_job(root_, current_->operation.id);
    if (job.empty() || current_->operation.of_earlier_boot ||
        (current_->recover && start_of(job) == current_->starts)) {
        then();
        return;
    }
    Launch launch;
    launch.request.job = job;
    launch.deadline = to_end;
    const auto ended = [this, then](const JobEnd&) {
        current_->worker.reset();
        then();
    };
    say("waiting for a worker to exit");
    if (auto worker = launcher_.recover(launch, {{}, ended}))
        current_->worker = *std::move(worker);
    else
        wait(worker.error().message, [this, then] { await_leftover(then); });
}

/// Undoes the transaction if there are jobs without a Start record in the journal. In that case the previous
/// daemon could not write the journal and continued without it (continue_unwritten()).
void Runner::go_back_if_unrecorded() {
    const std::uint64_t id = current_->operation.id;
    std::vector<std::string> unrecorded;
    for (std::string& job : root_.list(core::jobs_directory).value_or(std::vector<std::string>()))
        if (base::starts_with(job, std::to_string(id) + "-") && start_of(job) > current_->starts)
            unrecorded.push_back(std::move(job));
    if (unrecorded.empty()) {
        advance();
        return;
    }
    Record cancel = record(Record::Type::Cancel); // has no effect after the point of no return
    cancel.error = base::Error{Errc::Interrupted, "the journal lacks the records of some jobs", {}};
    append(std::move(cancel), [this, unrecorded] {
        // Removes these jobs, because later jobs get the same names.
        for (const std::string& job : unrecorded)
            if (const auto removed = root_.remove_tree(core::job_directory(job)); !removed)
                warn(removed.error().message + ", ignoring");
        current_->recover = current_->recover && current_->operation.transaction.in_flight();
        advance();
    });
}

/// Removes the journals of old operations until `kept` remain: first dry runs, because they are frequent.
/// Keeps the operation that requires a reboot, and the newest one, whose client still reads the outcome.
void Runner::prune() {
    core::keep_journal_reserve(root_);
    while (ended_.size() > kept) {
        const auto newest = std::prev(ended_.end());
        auto oldest = std::find_if(ended_.begin(), newest,
                                   [](const auto& entry) { return entry.second.transaction.check_only(); });
        if (oldest == newest)
            oldest = std::find_if(ended_.begin(), newest,
                                  [&](const auto& entry) { return entry.first != reboot_required(); });
        if (oldest == newest)
            return;
        if (listener_.removed)
            listener_.removed(oldest->second); // while find() still returns it
        remove_journal(oldest->first);
        ended_.erase(oldest);
    }
    while (ended_.size() == kept && !unreadable_.empty() && *unreadable_.begin() < ended_.begin()->first) {
        remove_journal(*unreadable_.begin());
        unreadable_.erase(unreadable_.begin());
    }
}

void Runner::remove_journal(std::uint64_t id) {
    if (auto removed = core::remove_journal(root_, id); !removed)
        log::warning("can't remove an old journal: " + removed.error().message + ", ignoring");
}

std::optional<std::uint64_t> Runner::reboot_required() const {
    for (auto entry = ended_.rbegin(); entry != ended_.rend(); ++entry) {
        const core::Transaction& transaction = entry->second.transaction;
        if (transaction.boot_id() != boot_id_)
            continue;
        if (transaction.outcome() == Outcome::RebootRequired)
            return entry->first;
        if (transaction.outcome() == Outcome::Committed && transaction.plan().driver)
            return std::nullopt;
    }
    return std::nullopt;
}

} // namespace gpuhost::host
