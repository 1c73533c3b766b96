// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/system_query.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(SystemQuery, TruncatedAndFailedOutputHasAReason) {
    const auto whole = query_program({"printf", "12345"}, 5);
    EXPECT_EQ(whole.text, "12345");
    EXPECT_FALSE(whole.is_cut);
    EXPECT_EQ(whole.problem, "");

    const auto cut = query_program({"printf", "123456"}, 5);
    EXPECT_EQ(cut.text, "12345");
    EXPECT_TRUE(cut.is_cut);

    const auto failed = query_program({"sh", "-c", "echo half; exit 3"}, 100);
    EXPECT_EQ(failed.text, "half\n") << "the output before the failure";
    EXPECT_EQ(failed.problem, "exited with status 3");

    EXPECT_NE(query_program({"no-such-program"}, 5).problem.find("can't be started"), std::string::npos);
}

TEST(SystemQuery, AskReturnsCompleteOutputOrNothing) {
    EXPECT_EQ(ask_program({"printf", "x"}), "x");
    EXPECT_EQ(ask_program({"sh", "-c", "echo half; exit 3"}), std::nullopt);
    EXPECT_EQ(ask_program({"no-such-program"}), std::nullopt);
}

} // namespace
} // namespace gpuhost::ctl
