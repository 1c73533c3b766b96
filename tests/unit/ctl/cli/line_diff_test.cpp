// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/line_diff.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using Lines = std::vector<std::string>;

TEST(LineDiff, EqualTextsHaveNoDiff) {
    EXPECT_EQ(line_diff("", ""), Lines());
    EXPECT_EQ(line_diff("a\nb\n", "a\nb\n"), Lines());
}

TEST(LineDiff, ChangeHasThreeLinesOfContext) {
    EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n5b\n6\n7\n8\n9\n"),
              (Lines{"@@ -2,7 +2,8 @@", " 2", " 3", " 4", "-5", "+five", "+5b", " 6", " 7", " 8"}));
}

TEST(LineDiff, AddedAndRemovedFilesAreShown) {
    EXPECT_EQ(line_diff("", "a\nb\n"), (Lines{"@@ -0,0 +1,2 @@", "+a", "+b"}));
    EXPECT_EQ(line_diff("a\nb\n", ""), (Lines{"@@ -1,2 +0,0 @@", "-a", "-b"}));
}

TEST(LineDiff, AddedLinesAtBothEndsAreShown) {
    EXPECT_EQ(line_diff("a\nb\n", "0\na\nb\n"), (Lines{"@@ -1,2 +1,3 @@", "+0", " a", " b"}));
    EXPECT_EQ(line_diff("a\nb\n", "a\nb\nc\n"), (Lines{"@@ -1,2 +1,3 @@", " a", " b", "+c"}));
}

TEST(LineDiff, RepeatedLineIsCountedOnce) {
    EXPECT_EQ(line_diff("a\n", "a\na\n"), (Lines{"@@ -1,1 +1,2 @@", " a", "+a"}));
    EXPECT_EQ(line_diff("a\na\n", "a\n"), (Lines{"@@ -1,2 +1,1 @@", " a", "-a"}));
}

TEST(LineDiff, FinalLineFeedIsAChange) {
    EXPECT_EQ(line_diff("a\n}", "a\n}\n"),
              (Lines{"@@ -1,2 +1,2 @@", " a", "-}", "\\ no line feed at its end", "+}"}));
    EXPECT_EQ(line_diff("x", "y\nx"), (Lines{"@@ -1,1 +1,2 @@", "+y", " x", "\\ no line feed at its end"}));
}

} // namespace
} // namespace gpuhost::ctl
