// SPDX-License-Identifier: Apache-2.0
// The part of Runner that writes the journal.
#include "daemon/base/clock.hpp"
#include "daemon/host/transaction/runner.hpp"

namespace gpuhost::host {

namespace log = base::log;
using base::Error;
using base::Result;
using core::Record;

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

} // namespace gpuhost::host
