// SPDX-License-Identifier: Apache-2.0
// What a daemon before this one left: journals to take up, files to remove.
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

/// Two daemons over one journal would each undo what the other does. The kernel drops the lock with its holder.
Result<void> Runner::lock_journal() {
    GPUHOST_CHECK(root_.make_directories(core::journal_directory, 0700));
    core::keep_journal_reserve(root_);
    GPUHOST_TRY(directory, root_.open_file(core::journal_directory, O_RDONLY | O_DIRECTORY));
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? base::fail(Errc::Busy, "another gpuhostd is at work on this system",
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

Result<void> Runner::look() {
    looking_ = true;
    GPUHOST_TRY(ids, core::list_journals(root_));
    for (const std::uint64_t id : ids)
        GPUHOST_CHECK(load(id));
    return {};
}

/// What a transaction kept while it ran: its staging directory, and its jobs' files with those of attempts
/// that died.
void Runner::remove_files_of(std::uint64_t id) {
    sweeper_.remove(core::staging_of(id));
    for (const auto& job : root_.list(core::jobs_directory).value_or(std::vector<std::string>()))
        if (base::starts_with(job, std::to_string(id) + "-"))
            sweeper_.remove(core::job_directory(job));
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

/// The host's truth is observed, not remembered: a journal that rotted costs its history, nothing else.
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
        return base::fail(Errc::Unsupported, "a newer gpuhostd has not ended operation " + std::to_string(id),
                          "Install that version again, and let it end.");
    if (!read && read.error().code != Errc::BadContent)
        return base::fail(read.error());
    if (!read) {
        log::warning("can't read the journal of operation " + std::to_string(id) + ": " +
                     read.error().message + ", ignoring");
        rotten_.insert(id);
        return {};
    }
    if (operation.transaction.outcome() || looking_) {
        operation.progress = operation.transaction.outcome() ? 1 : 0;
        if (!operation.transaction.outcome())
            log::notice("operation " + std::to_string(id) + " (" + operation.transaction.plan().title +
                        ") was interrupted, and goes back before anything else is changed");
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
    current_->operation.of_earlier_boot = transaction.boot_id() != boot_id_;
    current_->adopt = transaction.in_flight() && !current_->operation.of_earlier_boot;
    const std::string id = std::to_string(current_->operation.id);
    log::event(log::Level::Notice, message::operation_resumed, {{"GPUHOST_OPERATION_ID", id}},
               "operation " + id + " (" + transaction.plan().title + ") was interrupted, taking it up again");
    Record resumed = record(Record::Type::Resume);
    resumed.boot_id = boot_id_;
    append(std::move(resumed), [this] {
        if (current_->operation.transaction.undoing())
            current_->operation.progress = 1; // from where it shrinks
        // Going back right away, after a reboot: there is no phase to wait for.
        current_->adopt = current_->adopt && current_->operation.transaction.in_flight();
        await_leftover([this] { go_back_if_unrecorded(); });
    });
}

/// Where no phase is in flight, or one that no worker was told of, one from before may still be about to end. Nothing is
/// started beside it.
void Runner::await_leftover(const Event::Callback& then) {
    constexpr std::chrono::seconds to_end{10};
    const std::string job = newest_job(root_, current_->operation.id);
    if (job.empty() || current_->operation.of_earlier_boot || (current_->adopt && job == current_job())) {
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
    say("waiting for a worker's end");
    if (auto worker = launcher_.adopt(launch, {{}, ended}))
        current_->worker = *std::move(worker);
    else
        wait(worker.error().message, [this, then] { await_leftover(then); });
}

/// Goes back where the host has jobs that the journal does not announce: the daemon before this one had no journal, went back,
/// and its records are lost (continue_unwritten()).
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
    Record cancel = record(Record::Type::Cancel); // without effect after the point of no return
    cancel.error = base::Error{Errc::Interrupted, "the journal lacks records of what was done", {}};
    append(std::move(cancel), [this, unrecorded] {
        // Jobs to come have the same names.
        for (const std::string& job : unrecorded)
            if (const auto removed = root_.remove_tree(core::job_directory(job)); !removed)
                warn(removed.error().message + ", ignoring");
        current_->adopt = current_->adopt && current_->operation.transaction.in_flight();
        advance();
    });
}

/// Removes dry runs first, and each is only one of many. The operation that requires a reboot stays.
/// The newest stays too: who waited for it has still to read how it ended.
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
            listener_.removed(oldest->second); // it is still found
        remove_journal(oldest->first);
        ended_.erase(oldest);
    }
    while (ended_.size() == kept && !rotten_.empty() && *rotten_.begin() < ended_.begin()->first) {
        remove_journal(*rotten_.begin());
        rotten_.erase(rotten_.begin());
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
