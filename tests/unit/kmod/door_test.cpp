// SPDX-License-Identifier: Apache-2.0
#include "kmod/door.hpp"
#include "tests/support/tmpdir.hpp"

#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(Door, IsNoticedByThoseWhoDoNotKnowItsDirectory) {
    const tests::TempDir directory;
    directory.write("etc/modprobe.d/x.conf", "");
    const std::string known = directory.path("etc/modprobe.d");
    const std::array<timespec, 2> long_ago{};
    ASSERT_EQ(::utimensat(AT_FDCWD, known.c_str(), long_ago.data(), 0), 0);
    ASSERT_TRUE(shut_door(directory.root(), {"nvidia"}));
    EXPECT_GT(directory.root().stat("/etc/modprobe.d")->st_mtime, 0);
}

} // namespace
} // namespace gpuhost::kmod
