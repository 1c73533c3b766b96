// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/device_params.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

TEST(HookDeviceParams, OnlyModifyDeviceFilesIsChanged) {
    EXPECT_EQ(without_modification("A: 1\nModifyDeviceFiles: 1\nB: 1\n"),
              "A: 1\nModifyDeviceFiles: 0\nB: 1\n");
    EXPECT_EQ(without_modification("ModifyDeviceFiles: 1"), "ModifyDeviceFiles: 0\n");
    for (const char* params :
         {"", "A: 1\n", "ModifyDeviceFiles: 0\n", "ModifyDeviceFiles: 11\n", "NoModifyDeviceFiles: 1\n"})
        EXPECT_EQ(without_modification(params), std::nullopt) << params;
}

} // namespace
} // namespace gpuhost::runtime
