// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/commands.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using Texts = std::vector<std::string>;

const DriverProfiles h100{{0, {19, 1}}, {2, {9, 3}}};

GpuInstance one_slice(unsigned id, unsigned start) {
    return {id, 0, {start, 1}, {{0, 0, 0, {0, 1}, "MIG-0"}}};
}

TEST(CreationCommands, FilledInstancesShareACommand) {
    EXPECT_EQ(creation_commands("GPU-1", true, {{one_slice(7, 0), false}, {one_slice(9, 2), false}}, h100),
              Texts{"nvidia-smi mig -i GPU-1 -cgi 19:0,19:2 -C"});
}

TEST(CreationCommands, SeveralComputeInstancesAreCreatedInside) {
    const GpuInstance three{2, 2, {4, 4}, {{0, 0, 0, {0, 1}, ""}, {1, 1, 0, {1, 2}, ""}}};
    EXPECT_EQ(creation_commands("GPU-1", false, {{three, false}, {one_slice(7, 0), false}}, h100),
              (Texts{"nvidia-smi -i GPU-1 -mig 1", "nvidia-smi mig -i GPU-1 -cgi 9:4",
                     "nvidia-smi mig -i GPU-1 -gi 2 -cci 0,1", "nvidia-smi mig -i GPU-1 -cgi 19:0 -C"}));
    EXPECT_EQ(creation_commands("GPU-1", true, {{three, true}}, h100),
              Texts{"nvidia-smi mig -i GPU-1 -gi 2 -cci 0,1"});
}

TEST(CreationCommands, EmptyInstancesGetNoComputeInstance) {
    EXPECT_EQ(creation_commands("GPU-1", true, {{{2, 2, {4, 4}, {}}, false}}, h100),
              Texts{"nvidia-smi mig -i GPU-1 -cgi 9:4"});
}

TEST(CreationCommands, UnknownProfileGivesNoCommands) {
    EXPECT_EQ(creation_commands("GPU-1", false, {{one_slice(7, 0), false}}, {}), Texts{});
}

} // namespace
} // namespace gpuhost::devices
