// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/transaction/history.hpp"
#include "tests/support/tmpdir.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gpuhost::host {
namespace {

using base::Json;
using core::Outcome;
using core::Record;

/// Returns a swap with this outcome; `began`: its step was started.
Operation swap(std::uint64_t id, Outcome outcome, const std::string& cause = "", bool began = true) {
    Operation operation;
    operation.id = id;
    Record record;
    record.time_us = id * 1'000'000;
    record.boot_id = "b1";
    record.plan = core::Plan{};
    record.plan->kind = "driver.swap";
    record.plan->steps = {{"load", "load it", Json::object()}};
    record.plan->driver = core::DriverChange{"6.1.0", "535.261.03", "550.163.01"};
    record.subject.user = "alice";
    const auto feed = [&](Record::Type type) {
        record.type = type;
        record.phase = core::Phase::Apply;
        const auto fed = operation.transaction.feed(record);
        EXPECT_TRUE(fed) << fed.error().message;
    };
    feed(Record::Type::Begin);
    if (began)
        feed(Record::Type::Start);
    record.time_us += 12'000'000;
    record.outcome = outcome;
    if (!cause.empty())
        record.error = base::Error{base::Errc::Failed, cause, {}};
    feed(Record::Type::End);
    return operation;
}

class HistoryTest : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(root.make_directories("/var/lib/gpuhost")); }

    [[nodiscard]] std::vector<std::int64_t> ids(const std::vector<const Operation*>& kept = {}) const {
        std::vector<std::int64_t> found;
        const Json document = history.document(kept, "b1");
        for (const Json& change : document.at("changes"))
            found.push_back(base::int_or(change, "operation", 0));
        return found;
    }
    using Ids = std::vector<std::int64_t>;

    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
    History history{root};
};

TEST_F(HistoryTest, EntryHasOutcomeAndSubject) {
    const auto change = driver_change(swap(7, Outcome::RolledBack, "nvidia: No such device\nlook at dmesg"));
    ASSERT_TRUE(change);
    EXPECT_EQ(change->at("from"), "535.261.03");
    EXPECT_EQ(change->at("to"), "550.163.01");
    EXPECT_EQ(change->at("state"), "rolled-back");
    EXPECT_EQ(change->at("cause"), "nvidia: No such device");
    EXPECT_EQ(change->at("ended_us").get<std::uint64_t>() - change->at("began_us").get<std::uint64_t>(),
              12'000'000U);
    EXPECT_EQ(change->at("subject").at("user"), "alice");
}

TEST_F(HistoryTest, LongCauseIsCutBetweenCharacters) {
    std::string cause = "x";
    for (int i = 0; i < 400; ++i)
        cause += "ä";
    const auto change = driver_change(swap(7, Outcome::Incomplete, cause));
    ASSERT_TRUE(change);
    EXPECT_EQ(change->at("cause"), cause.substr(0, 499));
}

TEST_F(HistoryTest, RefusedAndOtherOperationsAreOmitted) {
    EXPECT_FALSE(driver_change(swap(7, Outcome::Refused, "in use", false)));
    Operation other;
    EXPECT_FALSE(driver_change(other));
    history.keep(swap(7, Outcome::Refused, "in use", false));
    EXPECT_FALSE(root.exists(history_file));
}

TEST_F(HistoryTest, ListsRemovedAndKeptOperations) {
    history.keep(swap(1, Outcome::Committed));
    history.keep(swap(2, Outcome::RebootRequired));
    const Operation kept = swap(3, Outcome::Committed);
    EXPECT_EQ(ids({&kept}), (Ids{3, 2, 1}));
    EXPECT_EQ(history.document({}, "b1").at("changes").at(0).at("waits_for_reboot"), true);
    EXPECT_EQ(history.document({}, "b2").at("changes").at(0).at("waits_for_reboot"), false);
}

TEST_F(HistoryTest, CrashBeforeJournalRemovalAddsNoDuplicate) {
    const Operation operation = swap(1, Outcome::Committed);
    history.keep(operation);
    EXPECT_EQ(ids({&operation}), (Ids{1}));
    history.keep(operation);
    EXPECT_EQ(ids(), (Ids{1}));
}

TEST_F(HistoryTest, OldestEntriesAreDropped) {
    for (std::uint64_t id = 1; id <= History::most + 5; ++id)
        history.keep(swap(id, Outcome::Committed));
    const Ids found = ids();
    EXPECT_EQ(found.size(), History::most);
    EXPECT_EQ(found.front(), static_cast<std::int64_t>(History::most + 5));
    EXPECT_EQ(found.back(), 6);
}

TEST_F(HistoryTest, InvalidFileIsReplaced) {
    for (const char* text : {"", "{", "[]", R"({"changes": 1})"}) {
        ASSERT_TRUE(root.write_atomic(history_file, text));
        EXPECT_EQ(ids(), Ids{}) << text;
        history.keep(swap(1, Outcome::Committed));
        EXPECT_EQ(ids(), (Ids{1})) << text;
    }
}

TEST_F(HistoryTest, FileOfANewerFormatIsKept) {
    const std::string newer = R"({"format": 2, "changes": [{"operation": 9}]})";
    ASSERT_TRUE(root.write_atomic(history_file, newer));
    history.keep(swap(1, Outcome::Committed));
    EXPECT_EQ(root.read(history_file).value(), newer);
    EXPECT_EQ(ids(), Ids{}) << "a newer format is not read";
}

TEST_F(HistoryTest, FullDiskKeepsTheOldFile) {
    history.keep(swap(1, Outcome::Committed));
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit little{1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    history.keep(swap(2, Outcome::Committed));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(ids(), (Ids{1}));
}

} // namespace
} // namespace gpuhost::host
