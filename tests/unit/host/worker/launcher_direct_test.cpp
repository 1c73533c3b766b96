// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/worker/job_files.hpp"
#include "daemon/host/worker/launcher_direct.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/tmpdir.hpp"

#include <csignal>
#include <optional>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace gpuhost::host {
namespace {

using base::Errc;

/// The worker is a shell script: $1 --root=DIR, $2 the job. A script may await the file "go", which its first
/// progress creates.
class DirectLauncherTest : public testing::Test {
  protected:
    // A reader of the test's output must not wait for children of a worker.
    static constexpr const char* head =
        "#!/bin/sh\n"
        "exec >/dev/null 2>&1\n"
        "job=\"${1#--root=}/run/gpuhost/jobs/$2\"\n"
        "await() { for i in $(seq 1000); do test -e \"$1\" && return; sleep 0.02; done; exit 1; }\n";

    void script(const std::string& body) {
        directory.write("worker", head + body);
        ASSERT_EQ(::chmod(directory.path("worker").c_str(), 0755), 0);
    }
    static Launch launch(std::chrono::seconds deadline = std::chrono::seconds(20)) {
        Launch made;
        made.request.job = "1-1-1";
        made.request.steps = {{"load", "do it", base::Json::object()}};
        made.deadline = deadline;
        return made;
    }
    JobCallbacks callbacks() {
        return {[this](const core::JobProgress& made) {
                    texts.push_back(made.text);
                    go();
                },
                [this](JobEnd end) {
                    result = std::move(end.result);
                    died = end.how == JobEnd::How::Died;
                    event.exit(0);
                }};
    }
    void go() const { directory.write("run/gpuhost/jobs/1-1-1/go", ""); }
    void start(const Launch& what, std::span<const int> inputs = {}) {
        auto started = launcher.start(what, inputs, callbacks());
        ASSERT_TRUE(started) << started.error().message;
        worker = *std::move(started);
    }
    void wait() {
        const auto late = event.after(std::chrono::seconds(30), [this] { event.exit(1); });
        ASSERT_EQ(event.run().value_or(-1), 0) << "the worker did not end";
        ASSERT_TRUE(result);
    }

    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
    Event event = *Event::create();
    DirectLauncher launcher{event, root, directory.path("worker")};
    std::unique_ptr<Worker> worker;
    std::vector<std::string> texts;
    std::optional<core::JobResult> result;
    bool died = false;
};

TEST_F(DirectLauncherTest, ReadsProgressAndResult) {
    script("echo '{\"progress\": 0.5, \"text\": \"half\"}' >>$job/events\n"
           "await $job/go\n"
           "test -s $job/request.json || exit 1\n"
           "echo '{\"result\": \"ok\", \"output\": {\"done\": true}}' >>$job/events\n");
    start(launch());
    wait();
    EXPECT_FALSE(result->error);
    EXPECT_EQ(result->output, (base::Json{{"done", true}}));
    EXPECT_EQ(texts, std::vector<std::string>{"half"});
}

TEST_F(DirectLauncherTest, EndWithoutResultIsADeath) {
    script("echo '{\"result\": \"o' >>$job/events\nkill -9 $$\n");
    start(launch());
    wait();
    EXPECT_TRUE(died);
    EXPECT_EQ(result->error->code, Errc::Interrupted);
}

TEST_F(DirectLauncherTest, DeadlineKillsWorkerAndItsChildren) {
    script("sleep 60 & echo $! >$job/child\nwait\n");
    start(launch(std::chrono::seconds(1)));
    std::string child; // before the loop checks the time
    ASSERT_TRUE(gpuhost::tests::eventually([&] {
        child = directory.read("run/gpuhost/jobs/1-1-1/child");
        return child.ends_with('\n');
    }));
    child.pop_back();
    wait();
    EXPECT_FALSE(died);
    EXPECT_EQ(result->error->code, Errc::Timeout);
    EXPECT_TRUE(gpuhost::tests::eventually([&] {
        const auto state = base::Root::open("/")->read_line("/proc/" + child + "/stat");
        return !state || state->find(") Z ") != std::string::npos;
    }));
}

TEST_F(DirectLauncherTest, MissingProgramIsADeath) {
    start(launch());
    wait();
    EXPECT_EQ(result->error->code, Errc::Interrupted);
}

TEST_F(DirectLauncherTest, RecoversTheWorkerOfADeadDaemon) {
    script(">$job/up\n"
           "await $job/go\n"
           "echo '{\"result\": \"ok\", \"output\": {\"late\": true}}' >>$job/events\n");
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    const pid_t daemon = ::fork();
    if (daemon == 0) {
        Event loop = *Event::create(); // epoll would be shared
        auto child = DirectLauncher(loop, root, directory.path("worker")).start(launch(), {}, {});
        // Until its own program runs, a worker dies with its daemon.
        (void)gpuhost::tests::eventually([this] { return root.exists("/run/gpuhost/jobs/1-1-1/up"); });
        ::kill(::getpid(), SIGKILL);
    }
    ASSERT_GT(daemon, 0);
    ::waitpid(daemon, nullptr, 0);
    auto recovered = launcher.recover(launch(), callbacks());
    ASSERT_TRUE(recovered);
    worker = *std::move(recovered);
    for (int i = 0; i < 5; ++i)
        (void)sd_event_run(event.get(), 10'000);
    EXPECT_FALSE(result) << "the worker still runs";
    go();
    wait();
    EXPECT_FALSE(result->error);
    EXPECT_EQ(result->output, (base::Json{{"late", true}}));
}

TEST_F(DirectLauncherTest, MissingJobEndsInterrupted) {
    auto recovered = launcher.recover(launch(), callbacks());
    ASSERT_TRUE(recovered);
    wait();
    EXPECT_EQ(result->error->code, Errc::Interrupted);
}

TEST_F(DirectLauncherTest, RecoveryWithoutDescriptorsFails) {
    directory.write("run/gpuhost/jobs/1-1-1/events", "");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{3, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto recovered = launcher.recover(launch(), callbacks());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(recovered) << "the result in the file would be lost";
}

TEST_F(DirectLauncherTest, ReusedPidIsNotTheWorker) {
    directory.write("run/gpuhost/jobs/1-1-1/events", "");
    directory.write("run/gpuhost/jobs/1-1-1/pid", std::to_string(::getpid()) + " 1\n");
    auto recovered = launcher.recover(launch(), callbacks());
    ASSERT_TRUE(recovered);
    wait();
    EXPECT_EQ(result->error->code, Errc::Interrupted);
}

TEST_F(DirectLauncherTest, RecoversAFormerVersionsLaterJob) {
    const auto stat = base::Root::open("/")->read_line("/proc/self/stat");
    ASSERT_TRUE(stat);
    std::string start = stat->substr(stat->rfind(')') + 2);
    for (int field = 3; field < 22; ++field)
        start.erase(0, start.find(' ') + 1);
    const std::string pid = std::to_string(::getpid()) + " " + start.substr(0, start.find(' ')) + "\n";
    directory.write("run/gpuhost/jobs/1-1-1/pid", pid);
    directory.write("run/gpuhost/jobs/1-2-1/events", "");
    directory.write("run/gpuhost/jobs/1-2-1/worker", "1-1-1\n");
    Launch later = launch();
    later.request.job = "1-2-1";
    auto recovered = launcher.recover(later, callbacks());
    ASSERT_TRUE(recovered);
    worker = *std::move(recovered);
    for (int i = 0; i < 5; ++i)
        (void)sd_event_run(event.get(), 10'000);
    EXPECT_FALSE(result) << "the worker still runs";
}

TEST_F(DirectLauncherTest, DeadWorkersChildrenAreKilled) {
    script("sleep 60 & echo $! >$job/child\nkill -9 $$\n");
    start(launch());
    wait();
    EXPECT_TRUE(died);
    const std::string child = directory.read("run/gpuhost/jobs/1-1-1/child");
    const std::string stat = "/proc/" + child.substr(0, child.find('\n')) + "/stat";
    const auto runs = [stat] {
        const auto state = base::Root::open("/")->read_line(stat);
        return state && state->find(") Z ") == std::string::npos;
    };
    for (int i = 0; i < 200 && runs(); ++i)
        ::usleep(10'000);
    EXPECT_FALSE(runs());
}

TEST_F(DirectLauncherTest, WorkerThatCannotBeWatchedIsKilled) {
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0); // only the worker is a child
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    script("sleep 60\n");
    event.exit(0);
    ASSERT_TRUE(event.run()); // an ended loop accepts no source
    EXPECT_FALSE(launcher.start(launch(), {}, callbacks()));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(DirectLauncherTest, WorkerRunsItsStepsUntilItIsStopped) {
    script("ok() { echo '{\"result\": \"ok\", \"output\": {}}' >>$job/events; }\n"
           "ok; echo '{\"next\": 1}' >>$job/events\n"
           "cat; ok\n"); // until stdin ends
    Launch group = launch();
    group.request.phase = core::Phase::Apply;
    group.request.steps.resize(3, group.request.steps.front());
    JobCallbacks all = callbacks();
    int steps = 0;
    all.step = [&](const core::JobResult&) {
        ++steps;
        worker->stop();
    };
    auto started = launcher.start(group, {}, all);
    ASSERT_TRUE(started) << started.error().message;
    worker = *std::move(started);
    wait();
    EXPECT_EQ(steps, 1);
    EXPECT_FALSE(died);
    EXPECT_FALSE(result->error);
}

TEST_F(DirectLauncherTest, EachStepHasItsOwnDeadline) {
    script("echo '{\"result\": \"ok\", \"output\": {}}' >>$job/events\n"
           "echo '{\"next\": 1}' >>$job/events\n"
           "sleep 60\n");
    Launch group = launch(std::chrono::seconds(60));
    group.request.phase = core::Phase::Apply;
    group.request.steps.resize(2, group.request.steps.front());
    JobCallbacks all = callbacks();
    all.step = [this](const core::JobResult&) { worker->set_deadline(std::chrono::seconds(0)); };
    auto started = launcher.start(group, {}, all);
    ASSERT_TRUE(started) << started.error().message;
    worker = *std::move(started);
    wait();
    EXPECT_EQ(result->error->code, Errc::Timeout);
}

TEST_F(DirectLauncherTest, WorkerThatFloodsItsEventsIsKilled) {
    script("head -c 300000 /dev/zero >>$job/events\nsleep 60\n");
    start(launch());
    wait();
    EXPECT_FALSE(died);
    EXPECT_EQ(result->error->code, Errc::BadContent);
}

} // namespace
} // namespace gpuhost::host
