// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/modprobe_rules.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using Rules = std::vector<ModprobeRule>;

TEST(ModprobeRules, OnlyRulesForGpuModulesAreRead) {
    EXPECT_EQ(
        modprobe_rules("# install nvidia /bin/false\n"
                       "install nvidia-uvm\t/bin/false\n"
                       "blacklist nouveau\r\n"
                       "blacklist \\\nnvidia\n"
                       "blacklist nvidiafb\ninstall\noptions nvidia NVreg_X=1\nblacklist i915",
                       "f"),
        (Rules{{"f", "install", "nvidia_uvm"}, {"f", "blacklist", "nouveau"}, {"f", "blacklist", "nvidia"}}));
    EXPECT_EQ(modprobe_rules("", "f"), Rules());
    EXPECT_EQ(modprobe_rules("blacklist nvidia\\", "f"), (Rules{{"f", "blacklist", "nvidia"}}));
}

TEST(ModprobeRules, CommandLineBlocksNouveau) {
    EXPECT_TRUE(command_line_blocks_nouveau("ro modprobe.blacklist=nvidiafb,nouveau quiet"));
    EXPECT_TRUE(command_line_blocks_nouveau("module_blacklist=nouveau"));
    EXPECT_TRUE(command_line_blocks_nouveau("nouveau.modeset=0"));
    EXPECT_FALSE(command_line_blocks_nouveau(
        "nouveau.modeset=1 modprobe.blacklist=nouveau2 nouveau module_blacklist"));
    EXPECT_FALSE(command_line_blocks_nouveau(""));
}

} // namespace
} // namespace gpuhost::ctl
