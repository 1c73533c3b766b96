// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/job_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuhost::host {
namespace {

using base::Errc;

class JobWatchTest : public testing::Test {
  protected:
    static constexpr const char* ok = "{\"result\": \"ok\", \"output\": {\"done\": true}}\n";

    /// Returns the end of a worker that died after it wrote `events`.
    JobEnd watch(const std::string& events) {
        directory.write("run/gpuhost/jobs/1-1-1/events", events);
        JobWatch watch({[this](const core::JobProgress& made) { texts.push_back(made.text); },
                        [this](JobEnd made) { ended = std::move(made); }},
                       [this] { ++killed; });
        EXPECT_TRUE(watch.start(event, root, "1-1-1"));
        watch.end({Errc::Interrupted, "it died", {}});
        return ended.value_or(JobEnd{});
    }
    static std::string progress(const std::string& text) {
        return core::encode_event(core::JobProgress{0.5, text});
    }

    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
    Event event = *Event::create();
    std::vector<std::string> texts;
    std::optional<JobEnd> ended;
    int killed = 0;
};

TEST_F(JobWatchTest, ReportsNewestProgressAndResult) {
    const JobEnd end = watch(progress("a") + progress("b") + ok + "{\"resu");
    EXPECT_EQ(texts, std::vector<std::string>{"b"});
    EXPECT_EQ(end.how, JobEnd::How::Reported);
    EXPECT_EQ(end.result.output, (base::Json{{"done", true}}));
    EXPECT_EQ(killed, 0);
}

TEST_F(JobWatchTest, ResultIsReportedInTheNextTurn) {
    directory.write("run/gpuhost/jobs/1-1-1/events", ok);
    JobWatch watch({{}, [this](JobEnd made) { ended = std::move(made); }}, {}, JobWatch::Until::Result);
    ASSERT_TRUE(watch.start(event, root, "1-1-1"));
    EXPECT_FALSE(ended) << "not before start() returned";
    (void)sd_event_run(event.get(), 0);
    ASSERT_TRUE(ended);
    EXPECT_TRUE(ended->rests);
    EXPECT_EQ(ended->result.output, (base::Json{{"done", true}}));
}

TEST_F(JobWatchTest, WorkerEndingWithItsResultIsNotIdle) {
    directory.write("run/gpuhost/jobs/1-1-1/events", ok);
    JobWatch watch({{}, [this](JobEnd made) { ended = std::move(made); }}, {}, JobWatch::Until::Result);
    ASSERT_TRUE(watch.start(event, root, "1-1-1"));
    watch.end({Errc::Interrupted, "it died", {}});
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->rests);
    EXPECT_EQ(ended->result.output, (base::Json{{"done", true}}));
}

TEST_F(JobWatchTest, EndWithoutResultIsADeath) {
    const JobEnd end = watch(progress("a"));
    EXPECT_EQ(end.how, JobEnd::How::Died);
    EXPECT_EQ(end.result.error->code, Errc::Interrupted);
}

TEST_F(JobWatchTest, LineUpToTheLimitIsRead) {
    const std::string line = progress(std::string(core::event_limit - 100, 'x'));
    EXPECT_EQ(watch(line + line + ok).how, JobEnd::How::Reported);
    EXPECT_EQ(killed, 0);
    EXPECT_EQ(texts.size(), 1U);
}

TEST_F(JobWatchTest, LineOverTheLimitKillsTheWorker) {
    for (const char* end_of_line : {"", "\n"}) {
        killed = 0;
        const JobEnd end = watch(ok + std::string(core::event_limit + 1, 'x') + end_of_line);
        EXPECT_EQ(end.how, JobEnd::How::Reported);
        EXPECT_EQ(end.result.error->code, Errc::BadContent);
        EXPECT_EQ(killed, 1);
    }
}

TEST_F(JobWatchTest, FileOverTheLimitKillsTheWorker) {
    std::string events;
    const std::string line = std::string(core::event_limit, 'x') + "\n";
    while (events.size() <= core::events_limit)
        events += line;
    const JobEnd end = watch(events + ok);
    EXPECT_EQ(end.result.error->code, Errc::BadContent);
    EXPECT_EQ(killed, 1);
}

TEST_F(JobWatchTest, LinkInPlaceOfEventsIsNotFollowed) {
    directory.write("secret", ok);
    directory.write("run/gpuhost/jobs/2-1-1/x", "");
    ASSERT_EQ(::symlink("/secret", directory.path("run/gpuhost/jobs/2-1-1/events").c_str()), 0);
    JobWatch watch({}, {});
    EXPECT_FALSE(watch.start(event, root, "2-1-1"));
}

} // namespace
} // namespace gpuhost::host
