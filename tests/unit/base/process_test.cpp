// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/process.hpp"

#include <chrono>

#include <gtest/gtest.h>

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

TEST(Process, ReportsTheSignal) {
    EXPECT_EQ(run(shell("kill -9 $$"))->exit_status, 128 + 9);
}

TEST(Process, CannotStartWhatIsNotThere) {
    Command command;
    command.argv = {"/no/such/program"};
    const auto finished = run(command);
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, Errc::NotFound);
}

TEST(Process, KillsTheWholeGroupAtTheDeadline) {
    Command command = shell("sleep 60 & sleep 60; echo never");
    command.deadline = std::chrono::milliseconds(200);
    const auto before = std::chrono::steady_clock::now();
    const auto finished = run(command);
    ASSERT_TRUE(finished);
    EXPECT_TRUE(finished->timed_out);
    EXPECT_EQ(finished->exit_status, 128 + 9);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(30));
}

TEST(Process, ADaemonThatKeepsNoOutputCannotHoldIt) {
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

TEST(Process, BoundsTheOutputButSeesEveryLine) {
    Command command = shell("for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; printf last");
    command.output_limit = 10;
    std::vector<std::string> lines;
    command.on_line = [&](std::string_view line) { lines.emplace_back(line); };
    const auto finished = run(command);
    EXPECT_EQ(finished->output.size(), 10U);
    ASSERT_EQ(lines.size(), 10U);
    EXPECT_EQ(lines.back(), "last");
}

} // namespace
} // namespace gpuhost::base
