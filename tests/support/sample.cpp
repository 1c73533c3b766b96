// SPDX-License-Identifier: Apache-2.0
// One test of each outcome: what formats.py reads in every format. sample_cmocka.c is its twin.
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
