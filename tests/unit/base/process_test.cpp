// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/handle.hpp"
#include "daemon/base/interrupt.hpp"
#include "daemon/base/process.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <memory>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::base {
namespace {

Command shell(const std::string& script) {
    Command command;
    command.argv = {"sh", "-c", script};
    return command;
}

TEST(Process, ReturnsOutputAndStatus) {
    const auto finished = run(shell("echo out; echo err >&2; exit 3"));
    ASSERT_TRUE(finished);
    EXPECT_EQ(finished->exit_status, 3);
    EXPECT_EQ(finished->output, "out\nerr\n");
    EXPECT_FALSE(finished->timed_out);
}

TEST(Process, SeparatesErrors) {
    Command command = shell("echo out; echo err >&2; (echo late >&2)");
    command.separate_errors = true;
    const auto finished = run(command);
    ASSERT_TRUE(finished);
    EXPECT_EQ(finished->output, "out\n");
    EXPECT_EQ(finished->errors, "err\nlate\n");
}

TEST(Process, ReportsTheSignal) {
    EXPECT_EQ(run(shell("kill -9 $$"))->exit_status, 128 + 9);
}

TEST(Process, StartsAProgramUnderAnotherName) {
    Command command;
    command.argv = {"called", "-c", "echo $0"};
    command.program = "/bin/sh";
    const auto finished = run(command);
    ASSERT_TRUE(finished);
    EXPECT_EQ(finished->output, "called\n");
}

TEST(Process, MissingProgramIsNotFound) {
    Command command;
    command.argv = {"/no/such/program"};
    const auto finished = run(command);
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, Errc::NotFound);
}

TEST(Process, DeadlineKillsTheWholeGroup) {
    Command command = shell("sleep 60 & sleep 60; echo never");
    command.deadline = std::chrono::milliseconds(200);
    const auto before = std::chrono::steady_clock::now();
    const auto finished = run(command);
    ASSERT_TRUE(finished);
    EXPECT_TRUE(finished->timed_out);
    EXPECT_EQ(finished->exit_status, 128 + 9);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(30));
}

TEST(Process, InterruptSendsSigtermAndWaits) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    Command command = shell("trap 'exit 3' TERM; echo ready; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done");
    command.interrupt = reader.get();
    command.on_line = [&](std::string_view) { EXPECT_EQ(::write(writer.get(), "x", 1), 1); };
    const auto finished = run(command);
    ASSERT_TRUE(finished);
    EXPECT_EQ(finished->exit_status, 3);
    EXPECT_FALSE(finished->timed_out);
}

TEST(Interrupt, RaisesTheSignalAgainWhenDestroyed) {
    constexpr int went_on = 7;
    for (const bool dies : {true, false}) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto interrupt = std::make_unique<Interrupt>();
            (void)std::raise(SIGTERM);
            if (dies)
                interrupt.reset();
            ::_exit(went_on);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, dies ? SIGTERM : 0);
        EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 0, dies ? 0 : went_on);
    }
}

TEST(Interrupt, IgnoredSignalStaysIgnored) {
    (void)std::signal(SIGHUP, SIG_IGN);
    {
        const Interrupt interrupt;
        (void)std::raise(SIGHUP);
        pollfd poll{interrupt.fd(), POLLIN, 0};
        EXPECT_EQ(::poll(&poll, 1, 0), 0);
    }
    (void)std::signal(SIGHUP, SIG_DFL);
}

TEST(Process, DeadlineHoldsAfterTheChildClosesItsOutput) {
    Command command = shell("exec >/dev/null 2>&1; sleep 60");
    command.deadline = std::chrono::milliseconds(200);
    EXPECT_TRUE(run(command)->timed_out);
}

TEST(Process, PassesAFixedEnvironment) {
    ::setenv("GPUHOST_TEST_SECRET", "leaked", 1);
    Command command = shell("echo $GPUHOST_TEST_SECRET$ADDED; pwd");
    command.environment = {"ADDED=added"};
    command.directory = "/usr";
    EXPECT_EQ(run(command)->output, "added\n/usr\n");
}

TEST(Process, LimitsStoredOutputButReportsEveryLine) {
    Command command = shell("for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; printf last");
    command.output_limit = 10;
    std::vector<std::string> lines;
    command.on_line = [&](std::string_view line) { lines.emplace_back(line); };
    const auto finished = run(command);
    EXPECT_EQ(finished->output.size(), 10U);
    ASSERT_EQ(lines.size(), 10U);
    EXPECT_EQ(lines.back(), "last");
}

TEST(Running, OutputIsReadableAndDestructorKillsIt) {
    pid_t child = -1;
    {
        const auto running = Running::start(shell("trap '' HUP; echo $$; exec sleep 60"));
        ASSERT_TRUE(running);
        pollfd readable{running->output(), POLLIN, 0};
        ASSERT_EQ(::poll(&readable, 1, 10'000), 1);
        std::array<char, 32> text{};
        ASSERT_GT(::read(running->output(), text.data(), text.size() - 1), 0);
        child = static_cast<pid_t>(std::atoi(text.data()));
        EXPECT_EQ(::kill(child, 0), 0);
        EXPECT_EQ(::read(running->output(), text.data(), text.size()), -1) << "the descriptor does not block";
    }
    EXPECT_EQ(::kill(child, 0), -1);
    Command absent;
    absent.argv = {"/no/such/program"};
    EXPECT_EQ(Running::start(absent).error().code, Errc::NotFound);
}

} // namespace
} // namespace gpuhost::base
