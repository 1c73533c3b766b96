// SPDX-License-Identifier: Apache-2.0
#include "kmod/door.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

TEST(Door, BlocksEachModuleOnce) {
    EXPECT_EQ(door_content({"nvidia_uvm", "nvidia", "nvidia"}).substr(door_content({}).size()),
              "install nvidia /bin/false\ninstall nvidia_uvm /bin/false\n");
}

TEST(Door, ShutsAndOpensAgainAndAgain) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    EXPECT_FALSE(door_is_shut(root));
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(shut_door(root, {"nvidia"}));
        EXPECT_TRUE(door_is_shut(root));
    }
    EXPECT_NE(directory.read("run/modprobe.d/gpuhost-door.conf").find("install nvidia /bin/false"),
              std::string::npos);
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(open_door(root));
        EXPECT_FALSE(door_is_shut(root));
    }
}

} // namespace
} // namespace gpuhost::kmod
