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
    const std::string ok = "{\"result\": \"ok\", \"output\": {\"done\": true}}\n";

    /// Returns the end of a worker that died after it wrote `events`.
    JobEnd watch(const std::string& events, std::size_t of = 1, std::size_t recorded = 0) {
        directory.write("run/gpuhost/jobs/1-1-1/events", events);
        Launch launch;
        launch.request.job = "1-1-1";
        launch.request.phase = core::Phase::Apply;
        launch.request.steps.resize(of);
        launch.recorded = recorded;
        JobWatch watch(launch,
                       {[this](const core::JobProgress& made) { texts.push_back(made.text); },
                        [this](JobEnd made) { ended = std::move(made); },
                        [this](const core::JobResult&) { ++steps; }},
                       [this] { ++killed; });
        EXPECT_TRUE(watch.start(event, root, false));
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
    int steps = 0; ///< that ended before the last one
};

TEST_F(JobWatchTest, ReportsNewestProgressAndResult) {
    const JobEnd end = watch(progress("a") + progress("b") + ok + "{\"resu");
    EXPECT_EQ(texts, std::vector<std::string>{"b"});
    EXPECT_EQ(end.how, JobEnd::How::Reported);
    EXPECT_EQ(end.result.output, (base::Json{{"done", true}}));
    EXPECT_EQ(killed, 0);
}

TEST_F(JobWatchTest, StepEndsWhenTheNextBegins) {
    const JobEnd end = watch(ok + progress("late") + core::encode_next(1) + progress("a") + ok, 3);
    EXPECT_EQ(steps, 1);
    EXPECT_EQ(texts, std::vector<std::string>{"a"});
    EXPECT_EQ(end.how, JobEnd::How::Reported) << "the worker stopped after its second step";
}

TEST_F(JobWatchTest, DeathIsThatOfTheStepThatBegan) {
    const JobEnd end = watch(ok + core::encode_next(1), 2);
    EXPECT_EQ(steps, 1);
    EXPECT_EQ(end.how, JobEnd::How::Died);
}

TEST_F(JobWatchTest, StepThatIsNotNextKillsTheWorker) {
    const std::string skip = "{\"result\": \"ok\", \"output\": {\"skip\": 1}}\n";
    const std::string failed = "{\"result\": \"error\", \"error\": {\"code\": \"failed\"}}\n";
    const std::string problems =
        "{\"result\": \"ok\", \"problems\": [{\"code\": \"failed\", \"text\": \"x\"}]}\n";
    const std::string next = core::encode_next(1);
    for (const auto& [events, begun] :
         std::vector<std::pair<std::string, int>>{{ok + next + ok + core::encode_next(2), 1},
                                                  {ok + next + ok + next, 1},
                                                  {ok + core::encode_next(2) + ok, 0},
                                                  {ok + core::encode_next(0) + ok, 0},
                                                  {skip + core::encode_next(2) + ok, 0},
                                                  {failed + next + ok, 0},
                                                  {problems + next + ok, 0},
                                                  {next + ok, 0}}) {
        steps = 0;
        killed = 0;
        const JobEnd end = watch(events, 2);
        EXPECT_EQ(end.how, JobEnd::How::Violated) << events;
        EXPECT_EQ(steps, begun) << events;
        EXPECT_EQ(killed, 1) << events;
    }
}

TEST_F(JobWatchTest, LeftoverWorkerIsOnlyAwaited) {
    directory.write("run/gpuhost/jobs/1-1-1/events", ok + core::encode_next(1));
    Launch launch; // as for a worker of unknown steps
    launch.request.job = "1-1-1";
    JobWatch watch(launch, {{}, [this](JobEnd made) { ended = std::move(made); }}, [this] { ++killed; });
    EXPECT_TRUE(watch.start(event, root, true));
    EXPECT_EQ(killed, 0);
}

// A worker that hangs in the kernel may continue after its job has ended.
TEST_F(JobWatchTest, EndedJobReportsNoFurtherStep) {
    directory.write("run/gpuhost/jobs/1-1-1/events", ok);
    Launch launch;
    launch.request.job = "1-1-1";
    launch.request.phase = core::Phase::Apply;
    launch.request.steps.resize(2);
    JobWatch watch(
        launch,
        {{}, [this](JobEnd made) { ended = std::move(made); }, [this](const core::JobResult&) { ++steps; }},
        {});
    ASSERT_TRUE(watch.start(event, root, false));
    watch.end({Errc::Timeout, "it was killed after its deadline", {}});
    EXPECT_TRUE(ended);
    directory.write("run/gpuhost/jobs/1-1-1/events", ok + core::encode_next(1));
    for (int turns = 0; turns < 10; ++turns)
        ASSERT_GE(sd_event_run(event.get(), 1000), 0);
    EXPECT_EQ(steps, 0);
}

TEST_F(JobWatchTest, RecordedStepsAreNotReportedAgain) {
    const std::string skip = "{\"result\": \"ok\", \"output\": {\"skip\": 1}}\n";
    const JobEnd end =
        watch(ok + core::encode_next(1) + skip + core::encode_next(3) + ok + core::encode_next(4) + ok, 2, 2);
    EXPECT_EQ(steps, 1);
    EXPECT_FALSE(end.result.error);
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
        EXPECT_EQ(end.how, JobEnd::How::Violated);
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

TEST_F(JobWatchTest, OnlyTheDaemonsWorkerFileCounts) {
    directory.write("run/gpuhost/jobs/7-2-1/worker", "7-1-1\n");
    EXPECT_EQ(first_job(root, "7-2-1"), "7-1-1");
    for (const char* said : {"8-1-1\n", "7-1/../1\n", "\n", ""}) {
        directory.write("run/gpuhost/jobs/7-2-1/worker", said);
        EXPECT_EQ(first_job(root, "7-2-1"), "7-2-1") << said;
    }
    directory.write("run/gpuhost/jobs/7-2-1/worker", "7-1-1\n");
    if (::chown(directory.path("run/gpuhost/jobs/7-2-1").c_str(), 12345, 12345) == 0) {
        EXPECT_EQ(first_job(root, "7-2-1"), "7-2-1") << "a worker without privileges wrote the file";
    }
}

TEST_F(JobWatchTest, FloodOfLinesKillsTheWorker) {
    const std::string flood(JobWatch::most_lines - 1, '\n');
    EXPECT_EQ(watch(flood + ok).how, JobEnd::How::Reported);
    EXPECT_EQ(killed, 0);
    EXPECT_EQ(watch(flood + "\n" + ok).how, JobEnd::How::Violated);
    EXPECT_EQ(killed, 1);
}

TEST_F(JobWatchTest, LinkInPlaceOfEventsIsNotFollowed) {
    directory.write("secret", ok);
    directory.write("run/gpuhost/jobs/2-1-1/x", "");
    ASSERT_EQ(::symlink("/secret", directory.path("run/gpuhost/jobs/2-1-1/events").c_str()), 0);
    Launch launch;
    launch.request.job = "2-1-1";
    JobWatch watch(launch, {}, {});
    EXPECT_FALSE(watch.start(event, root, false));
    EXPECT_TRUE(watch.start(event, root, true)) << "no later recovery finds another file";
}

} // namespace
} // namespace gpuhost::host
