// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/job.hpp"
#include "daemon/core/journal.hpp"
#include "tests/support/sync_seam.h"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gpuhost::core {
namespace {

using base::Errc;

Record begin() {
    Record record;
    record.boot_id = "boot";
    record.plan.emplace();
    record.plan->kind = "kind";
    record.plan->title = "title";
    record.plan->steps = {Step{"a", "b", base::Json::object()}};
    return record;
}

Record of(Record::Type type) {
    Record record;
    record.type = type;
    return record;
}

class JournalTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(root_.make_directories(journal_directory));
        seam_count = 0;
    }
    void TearDown() override { seam_sync = nullptr; }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(JournalTest, ReadsBackWhatWasAppended) {
    auto journal = Journal::create(root_, 7, begin());
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->append(of(Record::Type::Start)));
    ASSERT_TRUE(journal->append(of(Record::Type::Done)));
    const auto records = read_journal(root_, 7);
    ASSERT_TRUE(records);
    ASSERT_EQ(records->size(), 3U);
    EXPECT_EQ(records->front().plan->title, "title");
    EXPECT_EQ(records->back().type, Record::Type::Done);
}

TEST_F(JournalTest, KeepsTheSubjectAndItsAuthorization) {
    Record asked = begin();
    asked.subject.uid = 0;
    asked.subject.pid = 812;
    asked.subject.command = "gpuhostctl";
    asked.subject.user = "root";
    asked.subject.login_uid = 1000;
    asked.subject.login_user = "alice";
    asked.subject.unit = "session-3.scope";
    asked.subject.bus_name = ":1.42";
    asked.subject.action = "org.gpuhost1.apply";
    asked.subject.allowed_by = "root";
    ASSERT_TRUE(Journal::create(root_, 7, asked));
    const auto records = read_journal(root_, 7);
    ASSERT_TRUE(records);
    EXPECT_EQ(records->front().subject.login_uid, 1000U);
    EXPECT_EQ(to_json(records->front().subject), to_json(asked.subject));
    ASSERT_TRUE(Journal::create(root_, 8, begin()));
    const auto of_nobody = read_journal(root_, 8);
    ASSERT_TRUE(of_nobody);
    EXPECT_FALSE(of_nobody->front().subject.login_uid);
}

TEST(Subject, OriginDistinguishesRequestsFromUnattendedStarts) {
    const auto origin_of = [](const std::string& unit, const std::string& allowed_by) {
        Subject subject;
        subject.unit = unit;
        subject.allowed_by = allowed_by;
        return std::string(origin(subject));
    };
    EXPECT_EQ(origin_of("gpuhostd.service", "daemon"), "daemon");
    EXPECT_EQ(origin_of("gpuhost-cluster.service", "user"), "cluster");
    EXPECT_EQ(origin_of("gpuhost-cdi.service", "root"), "unit");
    EXPECT_EQ(origin_of("session-3.scope", "polkit"), "request");
    EXPECT_EQ(origin_of("", ""), "request"); // an older record
}

TEST_F(JournalTest, SyncsARecordBeforeItCounts) {
    auto journal = Journal::create(root_, 7, begin());
    ASSERT_TRUE(journal);
    seam_sync = [](int) { return 0; };
    ASSERT_TRUE(journal->append(of(Record::Type::Start)));
    ASSERT_EQ(seam_count, 1U);
    EXPECT_EQ(seam_synced[0].content, encode_record(begin()) + encode_record(of(Record::Type::Start)));
}

TEST_F(JournalTest, RecordThatCannotBeSyncedIsRemoved) {
    auto journal = Journal::create(root_, 7, begin());
    ASSERT_TRUE(journal);
    seam_sync = [](int) {
        errno = ENOSPC;
        return -1;
    };
    const auto refused = journal->append(of(Record::Type::Start));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::NoSpace);
    EXPECT_EQ(read_journal(root_, 7)->size(), 1U);
}

TEST_F(JournalTest, ExistingJournalIsNotOverwritten) {
    ASSERT_TRUE(Journal::create(root_, 7, begin()));
    EXPECT_EQ(Journal::create(root_, 7, begin()).error().code, Errc::AlreadyExists);
}

TEST_F(JournalTest, EveryPrefixDecodesToItsCompleteRecords) {
    const std::string text = encode_record(begin()) + encode_record(of(Record::Type::Start)) +
                             encode_record(of(Record::Type::Done));
    for (std::size_t size = 0; size <= text.size(); ++size) {
        const std::string prefix = text.substr(0, size);
        const auto records = decode_journal(prefix);
        ASSERT_TRUE(records) << size;
        EXPECT_EQ(records->size(), static_cast<std::size_t>(std::count(prefix.begin(), prefix.end(), '\n')));
    }
}

TEST_F(JournalTest, AppendsAfterATornRecord) {
    const std::string whole = encode_record(begin());
    for (const std::string& tail :
         {std::string("deadbeef {\"type\""), std::string("deadbeef {}\n"), std::string(64, '\0')}) {
        directory_.write(std::string(journal_directory) + "/9.jsonl", whole + tail);
        auto journal = Journal::open(root_, 9);
        ASSERT_TRUE(journal);
        ASSERT_TRUE(journal->append(of(Record::Type::Start)));
        const auto records = read_journal(root_, 9);
        ASSERT_TRUE(records) << records.error().message;
        EXPECT_EQ(records->size(), 2U);
    }
}

TEST_F(JournalTest, FullDiskLeavesNoPartialRecord) {
    auto journal = Journal::create(root_, 9, begin());
    ASSERT_TRUE(journal);
    const auto full =
        static_cast<rlim_t>(root_.stat(std::string(journal_directory) + "/9.jsonl")->st_size + 10);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit limit{full, before.rlim_max};
    (void)std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto refused = journal->append(of(Record::Type::Start));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(refused);
    ASSERT_TRUE(journal->append(of(Record::Type::Start)));
    const auto records = read_journal(root_, 9);
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_EQ(records->size(), 2U);
}

TEST_F(JournalTest, ReservesDiskSpaceUntilItEnds) {
    const auto bytes_on_disk = [&] {
        return root_.stat(std::string(journal_directory) + "/9.jsonl")->st_blocks * 512;
    };
    auto journal = Journal::create(root_, 9, begin());
    ASSERT_TRUE(journal);
    const auto reserved = bytes_on_disk();
    if (reserved < 100'000)
        GTEST_SKIP() << "this file system reserves nothing";
    ASSERT_TRUE(journal->append(of(Record::Type::Start)));
    EXPECT_EQ(bytes_on_disk(), reserved);
    ASSERT_TRUE(journal->append(of(Record::Type::End)));
    EXPECT_LT(bytes_on_disk(), 100'000);
    const auto records = read_journal(root_, 9);
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_EQ(records->size(), 3U);
}

TEST_F(JournalTest, DamageInTheMiddleIsReported) {
    std::string text = encode_record(begin()) + encode_record(of(Record::Type::Start)) +
                       encode_record(of(Record::Type::Done));
    text[encode_record(begin()).size() + 12] ^= 1;
    EXPECT_EQ(decode_journal(text).error().code, Errc::BadContent);
}

TEST_F(JournalTest, UnknownCompleteRecordIsUnsupported) {
    // {"type":"pause"} with its checksum
    const std::string text = encode_record(begin()) + "69a87fbb {\"type\":\"pause\"}\n";
    EXPECT_EQ(decode_journal(text).error().code, Errc::Unsupported);
}

TEST_F(JournalTest, ListsInOrderOfNumber) {
    for (const std::uint64_t id : {10U, 9U, 100U})
        ASSERT_TRUE(Journal::create(root_, id, begin()));
    directory_.write(std::string(journal_directory) + "/notes.txt", "");
    EXPECT_EQ(list_journals(root_).value(), (std::vector<std::uint64_t>{9, 10, 100}));
}

TEST_F(JournalTest, UnknownRecordIsUnsupportedOnlyInUnfinishedJournals) {
    const std::string newer = "69a87fbb {\"type\":\"pause\"}\n";
    EXPECT_EQ(
        decode_journal(encode_record(begin()) + newer + encode_record(of(Record::Type::End))).error().code,
        Errc::BadContent);
    EXPECT_EQ(
        decode_journal(encode_record(begin()) + newer + encode_record(of(Record::Type::Start))).error().code,
        Errc::Unsupported);
}

TEST(Job, EventsAreReadAsWritten) {
    JobResult result;
    result.error = base::Error{Errc::InUse, "held", "stop it"};
    EXPECT_EQ(decode_event(encode_event(result)).result->error->message, "held");
    EXPECT_EQ(decode_event(encode_event(JobProgress{0.5, "half"})).progress->text, "half");
    EXPECT_EQ(decode_event(encode_next(3)).next, 3U);
    for (const char* line : {"not json", "{\"progress\": 0.9, \"te", "", "[]", "{}"}) {
        const JobEvent event = decode_event(line);
        EXPECT_FALSE(event.result || event.progress || event.next) << line;
    }
}

TEST(Job, OutputThatIsNotAnObjectFails) {
    for (const char* output : {"[1]", "\"text\"", "7"}) {
        const JobEvent event = decode_event("{\"result\": \"ok\", \"output\": " + std::string(output) + "}");
        ASSERT_TRUE(event.result && event.result->error) << output;
        EXPECT_EQ(event.result->error->code, Errc::BadContent);
        EXPECT_TRUE(event.result->output.is_null());
    }
    EXPECT_FALSE(decode_event("{\"result\": \"ok\", \"output\": null}").result->error);
}

TEST(Job, ResultListsTheProblemsThatFitOneLine) {
    JobResult result;
    for (unsigned i = 0; i < 5000; ++i)
        result.problems.push_back(
            {Errc::InUse, "process " + std::to_string(i) + " holds the driver", std::string(100, 'h')});
    const std::string line = encode_event(result);
    EXPECT_LE(line.size(), event_limit);
    const JobEvent events = decode_event(line);
    ASSERT_TRUE(events.result);
    const std::vector<Problem>& listed = events.result->problems;
    ASSERT_GT(listed.size(), 1000U);
    EXPECT_EQ(listed[0].text, "process 0 holds the driver");
    EXPECT_EQ(listed.back().text, std::to_string(5001 - listed.size()) + " more problems are not listed");
    EXPECT_EQ(listed.back().code, Errc::InUse);
}

TEST(Job, RequestJsonRoundTripKeepsAllMembers) {
    const JobRequest request{"1-2-1",
                             Phase::Undo,
                             {Step{"k", "s", base::Json{{"a", 1}}}},
                             base::Json::object(),
                             "boot",
                             "/staging",
                             3};
    const auto read = job_request_from_json(to_json(request));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(request));
    EXPECT_FALSE(job_request_from_json(base::Json::object()));
    EXPECT_FALSE(job_request_from_json(
        base::Json{{"job", "x"}, {"phase", "nonsense"}, {"steps", base::Json::array()}}));
}

} // namespace
} // namespace gpuhost::core
