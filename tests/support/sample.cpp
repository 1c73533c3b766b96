// SPDX-License-Identifier: Apache-2.0
// One test for each outcome, for formats.py. sample_cmocka.c has the same tests for cmocka.
#include <gtest/gtest.h>

TEST(sample, good) {
    EXPECT_TRUE(true);
}
TEST(sample, bad) {
    FAIL() << "a ]]> is not <&>";
}
TEST(sample, skipped) {
    GTEST_SKIP() << "no device here";
}
