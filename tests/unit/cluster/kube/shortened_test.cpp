// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/shortened.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

TEST(Shortened, CutsBetweenCharacters) {
    EXPECT_EQ(shortened("abcdef", 6), "abcdef");
    EXPECT_EQ(shortened("abcdefg", 6), "abc...");
    const std::string euros = "\u20ac\u20ac\u20ac\u20ac"; // three bytes each
    EXPECT_EQ(shortened(euros, 12), euros);
    for (const std::size_t most : {9U, 10U, 11U})
        EXPECT_EQ(shortened(euros, most), "\u20ac\u20ac...");
    EXPECT_EQ(shortened(euros, 8), "\u20ac...");
    EXPECT_EQ(shortened(euros, 2), "..");
    EXPECT_EQ(shortened("", 0), "");
}

} // namespace
} // namespace gpuhost::cluster
