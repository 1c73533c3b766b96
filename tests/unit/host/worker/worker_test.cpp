// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/core/job.hpp"
#include "daemon/host/worker/job_files.hpp"
#include "daemon/host/worker/worker.hpp"
#include "daemon/host/worker/worker_socket.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>
#include <csignal>
#include <regex>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gpuhost::host {
namespace {

using base::Errc;

class WorkerTest : public testing::Test {
  protected:
    /// Writes the request, runs the job and reads the events, as the daemon does.
    core::JobResult run(core::Phase phase, const std::vector<std::string>& kinds_of_steps,
                        std::size_t inputs = 0, const std::string& summary = "do it") {
        core::JobRequest request;
        request.job = "7-1-1";
        request.phase = phase;
        request.inputs = inputs;
        request.settings = base::Json::object();
        for (const auto& name : kinds_of_steps)
            request.steps.push_back({name, summary, {{"of", name}}});
        EXPECT_TRUE(prepare_job(root, request, {::geteuid(), ::getegid()}, {}));
        EXPECT_EQ(run_job(root, codes, "7-1-1"), 0);
        const auto result = newest_result();
        EXPECT_TRUE(result);
        return result.value_or(core::JobResult{});
    }
    std::optional<core::JobResult> newest_result() {
        std::optional<core::JobResult> newest;
        for (const std::string& line : base::split(directory.read("run/gpuhost/jobs/7-1-1/events"), '\n'))
            if (core::JobEvent event = core::decode_event(line); event.result)
                newest = std::move(event.result);
        return newest;
    }
    core::StepCode& add(const std::string& name) {
        code = {};
        code.name = name;
        code.apply = [this](core::StepContext&, const base::Json& args) -> base::Result<base::Json> {
            calls.push_back("apply " + base::string_or(args, "of", ""));
            return base::Json{{"done", true}};
        };
        return code;
    }

    gpuhost::tests::TempDir directory;
    base::Root root = directory.root();
    core::StepCodes codes;
    core::StepCode code;
    std::vector<std::string> calls;
    int left = -1; ///< descriptor that a step left open
};

TEST_F(WorkerTest, AppliesThenVerifies) {
    add("a").verify = [this](core::StepContext&, const base::Json&) -> base::Result<void> {
        calls.emplace_back("verify");
        return base::fail(Errc::BadContent, "not as it should be");
    };
    codes.add(code);
    const auto result = run(core::Phase::Apply, {"a"});
    EXPECT_EQ(calls, (std::vector<std::string>{"apply a", "verify"}));
    EXPECT_EQ(result.error->code, Errc::BadContent);
    EXPECT_TRUE(base::bool_or(result.output, "done", false));
}

TEST_F(WorkerTest, WarningsAreOutputOfTheirPhase) {
    add("a").undo = [](core::StepContext& context, const base::Json&) -> base::Result<void> {
        context.warn("first");
        context.warn("second");
        return {};
    };
    codes.add(code);
    EXPECT_EQ(base::strings_or_empty(run(core::Phase::Undo, {"a"}).output, "warnings"),
              (std::vector<std::string>{"first", "second"}));
    EXPECT_FALSE(run(core::Phase::Apply, {"a"}).output.contains("warnings"));
}

TEST_F(WorkerTest, NotesAreOutputBesideFacts) {
    add("a").preflight = [](core::StepContext& context,
                            const base::Json&) -> base::Result<std::vector<core::Problem>> {
        context.note("no symbol versions");
        context.describe({{"version", "550"}});
        return std::vector<core::Problem>();
    };
    codes.add(code);
    EXPECT_EQ(run(core::Phase::Preflight, {"a"}).output,
              (base::Json{{"version", "550"}, {"notes", {"no symbol versions"}}}));
}

TEST_F(WorkerTest, KernelLogHintEndsWithTheFailedStep) {
    add("a").apply = [](core::StepContext&, const base::Json&) -> base::Result<base::Json> {
        return base::fail(Errc::Failed, "no GPU", "See the kernel's log: journalctl -k -g 'NVRM|nvidia'.");
    };
    codes.add(code);
    const std::uint64_t before = base::realtime_us() / 1'000'000;
    const std::string hint = run(core::Phase::Apply, {"a"}).error->hint;
    const std::uint64_t after = base::realtime_us() / 1'000'000;
    const std::regex form("See the kernel's log: journalctl -k --until @(\\d+) -g 'NVRM\\|nvidia'\\.");
    std::smatch until;
    ASSERT_TRUE(std::regex_match(hint, until, form)) << hint;
    EXPECT_GT(std::stoull(until[1]), before);
    EXPECT_LE(std::stoull(until[1]), after + 1);
}

TEST_F(WorkerTest, PreflightCollectsProblemsOfAllSteps) {
    for (const char* name : {"a", "b"}) {
        add(name).preflight = [](core::StepContext& context,
                                 const base::Json& args) -> base::Result<std::vector<core::Problem>> {
            context.progress(0.5, "looking");
            return std::vector<core::Problem>{{Errc::NoSpace, base::string_or(args, "of", ""), ""}};
        };
        codes.add(code);
    }
    const auto result = run(core::Phase::Preflight, {"a", "b"});
    ASSERT_EQ(result.problems.size(), 2U);
    EXPECT_EQ(result.problems[1].text, "b");
    EXPECT_TRUE(calls.empty());
}

TEST_F(WorkerTest, ExceptionBecomesAnError) {
    add("a").undo = [](core::StepContext&, const base::Json&) -> base::Result<void> {
        throw std::runtime_error("boom");
    };
    codes.add(code);
    EXPECT_NE(run(core::Phase::Undo, {"a"}).error->message.find("boom"), std::string::npos);
}

TEST_F(WorkerTest, UnknownKindsAndDamagedRequestsFail) {
    EXPECT_NE(run(core::Phase::Apply, {"z"}).error->message.find("'z'"), std::string::npos);
    directory.write("run/gpuhost/jobs/7-1-1/request.json", "{");
    directory.write("run/gpuhost/jobs/7-1-1/events", "");
    EXPECT_EQ(run_job(root, codes, "7-1-1"), 0);
    EXPECT_TRUE(newest_result()->error);
}

TEST_F(WorkerTest, RequestUpToPlanSizeIsRead) {
    add("a");
    codes.add(code);
    EXPECT_FALSE(run(core::Phase::Apply, {"a"}, 0, std::string(3U << 20, 'x')).error);
    EXPECT_EQ(calls.size(), 1U);
}

TEST_F(WorkerTest, ReceivesAllInputsInOrder) {
    // More than one message can hold.
    constexpr std::size_t count = 300;
    std::vector<base::UniqueFd> files;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < count; ++i) {
        directory.write("in/" + std::to_string(i), std::to_string(i));
        files.emplace_back(::open(directory.path("in/" + std::to_string(i)).c_str(), O_RDONLY | O_CLOEXEC));
        numbers.push_back(files.back().get());
    }
    auto socket = socket_with(numbers);
    ASSERT_TRUE(socket) << socket.error().message;
    const base::UniqueFd before(::dup(STDIN_FILENO));
    ASSERT_GE(::dup2(socket->worker.get(), STDIN_FILENO), 0);
    add("a").apply = [this](core::StepContext& context, const base::Json&) -> base::Result<base::Json> {
        for (const auto& input : context.inputs)
            calls.push_back(base::read_all(input.get(), 100, "input").value_or("?"));
        return base::Json();
    };
    codes.add(code);
    const auto result = run(core::Phase::Apply, {"a"}, count);
    ::dup2(before.get(), STDIN_FILENO);
    ASSERT_FALSE(result.error) << result.error->message;
    ASSERT_EQ(calls.size(), count);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(calls[i], std::to_string(i));
}

TEST_F(WorkerTest, MissingInputsFailWithoutBlocking) {
    auto socket = socket_with({});
    ASSERT_TRUE(socket);
    socket->daemon.reset();
    const base::UniqueFd before(::dup(STDIN_FILENO));
    ASSERT_GE(::dup2(socket->worker.get(), STDIN_FILENO), 0);
    add("a");
    codes.add(code);
    const auto result = run(core::Phase::Apply, {"a"}, 1);
    ::dup2(before.get(), STDIN_FILENO);
    EXPECT_TRUE(result.error);
    EXPECT_TRUE(calls.empty());
}

/// A job with several steps, with a stdin that can end.
class WorkerGroupTest : public WorkerTest {
  protected:
    void SetUp() override {
        auto made = socket_with({});
        ASSERT_TRUE(made);
        socket = *std::move(made);
        ASSERT_GE(::dup2(socket.worker.get(), STDIN_FILENO), 0);
    }
    void TearDown() override { ::dup2(before.get(), STDIN_FILENO); }
    /// Runs the steps. Returns the lines of events without progress: "ok", "error" or "next".
    std::vector<std::string> lines(const std::vector<std::string>& kinds_of_steps) {
        (void)run(core::Phase::Apply, kinds_of_steps);
        std::vector<std::string> found;
        for (const std::string& line : base::split(directory.read("run/gpuhost/jobs/7-1-1/events"), '\n')) {
            const core::JobEvent event = core::decode_event(line);
            if (event.result)
                found.emplace_back(event.result->error ? "error" : "ok");
            if (event.next)
                found.push_back("next " + std::to_string(*event.next));
        }
        return found;
    }

    base::UniqueFd before{::dup(STDIN_FILENO)};
    WorkerSocket socket;
};

TEST_F(WorkerGroupTest, StepsRunInOrder) {
    add("a").apply = [this](core::StepContext& context, const base::Json&) -> base::Result<base::Json> {
        base::UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        left = fd.get();
        context.keep(std::move(fd));
        return base::Json{{"skip", 1}};
    };
    codes.add(code);
    add("b").apply = [this](core::StepContext&, const base::Json&) -> base::Result<base::Json> {
        calls.emplace_back(::fcntl(left, F_GETFD) != -1 ? "open" : "closed");
        return base::Json::object();
    };
    codes.add(code);
    EXPECT_EQ(lines({"a", "b", "b", "b"}), (std::vector<std::string>{"ok", "next 2", "ok", "next 3", "ok"}));
    EXPECT_EQ(calls, (std::vector<std::string>{"open", "open"})) << "one step was skipped";
}

TEST_F(WorkerGroupTest, FailedStepEndsTheJob) {
    add("a");
    codes.add(code);
    add("b").apply = [](core::StepContext&, const base::Json&) -> base::Result<base::Json> {
        return base::fail(Errc::Failed, "no");
    };
    codes.add(code);
    EXPECT_EQ(lines({"a", "b", "a"}), (std::vector<std::string>{"ok", "next 1", "error"}));
}

TEST_F(WorkerGroupTest, TornProgressDamagesNoResult) {
    add("a").apply = [this](core::StepContext& context, const base::Json&) -> base::Result<base::Json> {
        struct rlimit limit {};
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
        const struct rlimit unlimited = limit;
        limit.rlim_cur = directory.read("run/gpuhost/jobs/7-1-1/events").size() + 5;
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
        context.progress(0.5, "half");
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
        (void)std::signal(SIGXFSZ, handler);
        return base::Json::object();
    };
    codes.add(code);
    EXPECT_EQ(lines({"a", "a"}), (std::vector<std::string>{"ok", "next 1", "ok"}));
}

TEST_F(WorkerGroupTest, EndOfStdinEndsTheJob) {
    add("a").apply = [this](core::StepContext&, const base::Json&) -> base::Result<base::Json> {
        if (calls.emplace_back("a"); calls.size() == 2)
            socket.daemon.reset();
        return base::Json::object();
    };
    codes.add(code);
    EXPECT_EQ(lines({"a", "a", "a"}), (std::vector<std::string>{"ok", "next 1", "ok"}));
}

} // namespace
} // namespace gpuhost::host
