// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/newest_first.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(OldestFirst, ReversesEntriesButNotTheirLines) {
    EXPECT_EQ(oldest_first("3 c\n   of it\n2 b\n1 a\n", false), "1 a\n2 b\n3 c\n   of it\n");
    EXPECT_EQ(oldest_first("1 a\n", false), "1 a\n");
    EXPECT_EQ(oldest_first("2 b\n1 a", false), "1 a\n2 b\n");
    EXPECT_EQ(oldest_first("", false), "");
    EXPECT_EQ(oldest_first("\n", false), "\n");
    EXPECT_EQ(oldest_first("  all\n  blank\n", false), "  all\n  blank\n");
}

TEST(OldestFirst, OmitsTruncatedEntry) {
    EXPECT_EQ(oldest_first("3 c\n2 b\n1 a tor", true), "2 b\n3 c\n");
    EXPECT_EQ(oldest_first("2 b\n1 a\n   tor", true), "2 b\n");
    EXPECT_EQ(oldest_first("1 a tor", true), "");
}

} // namespace
} // namespace gpuhost::ctl
