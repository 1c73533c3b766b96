// SPDX-License-Identifier: Apache-2.0
#include "kmod/device/devices.hpp"
#include "kmod/load/converge.hpp"
#include "tests/unit/kmod/kernel_tree.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

class Devices : public testing::Test {
  protected:
    void SetUp() override {
        tree_.add_gpu("0000:65:00.0");
        tree_.add_gpu("0000:66:00.0");
        const ModuleGoal goal = tree_.add_modules("535.261.03");
        const auto loader = make_module_loader(tree_.root());
        ASSERT_TRUE(converge(tree_.root(), *loader, goal, {}));
    }

    std::string link(const std::string& number) const {
        return tree_.root().read_link("/dev/char/" + number).value_or("none");
    }

    tests::KernelTree tree_;
};

TEST_F(Devices, NodesAreCreatedWithTheirLinks) {
    EXPECT_FALSE(devices_complete(tree_.root()));
    ASSERT_TRUE(make_devices(tree_.root()));
    EXPECT_TRUE(missing_devices(tree_.root()).empty());
    EXPECT_TRUE(devices_complete(tree_.root()));
    EXPECT_EQ(tree_.directory().read("dev/nvidia1"), "c 195:1 666\n");
    EXPECT_EQ(tree_.directory().read("dev/nvidiactl"), "c 195:255 666\n");
    EXPECT_EQ(tree_.directory().read("dev/nvidia-modeset"), "c 195:254 666\n");
    EXPECT_EQ(tree_.directory().read("dev/nvidia-uvm-tools"), "c 236:1 666\n");
    EXPECT_EQ(tree_.directory().read("dev/nvidia-caps/nvidia-cap1"), "c 234:1 400\n");
    EXPECT_EQ(link("195:0"), "../nvidia0");
    EXPECT_EQ(link("234:1"), "../nvidia-caps/nvidia-cap1");
}

TEST_F(Devices, ChangedMajorReplacesTheNodes) {
    ASSERT_TRUE(make_devices(tree_.root()));
    std::string devices = tree_.directory().read("proc/devices");
    devices.replace(devices.find("236 nvidia-uvm"), 3, "510");
    tree_.directory().write("proc/devices", devices);
    EXPECT_FALSE(devices_complete(tree_.root()));
    ASSERT_TRUE(make_devices(tree_.root()));
    EXPECT_EQ(tree_.directory().read("dev/nvidia-uvm"), "c 510:0 666\n");
    EXPECT_EQ(link("510:0"), "../nvidia-uvm");
    EXPECT_EQ(link("236:0"), "none") << "the old number may belong to another driver";
}

TEST_F(Devices, NodesGetTheDriversMode) {
    ASSERT_TRUE(make_devices(tree_.root()));
    tree_.directory().write("dev/nvidiactl", "c 195:255 600\n");
    EXPECT_FALSE(devices_complete(tree_.root()));
    ASSERT_TRUE(make_devices(tree_.root()));
    EXPECT_EQ(tree_.directory().read("dev/nvidiactl"), "c 195:255 666\n");
}

TEST_F(Devices, NodesAreKeptIfModifyDeviceFilesIs0) {
    tree_.directory().write("proc/driver/nvidia/params", "ModifyDeviceFiles: 0\n");
    EXPECT_TRUE(wanted_devices(tree_.root()).empty());
    EXPECT_TRUE(devices_complete(tree_.root()));
}

TEST(DeviceRules, RulesAreReadFromTheDriversParameters) {
    const DeviceRules rules = parse_device_rules(
        "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 44\n"
        "DeviceFileMode: 432\nVisibleDevices: \"\"\n");
    EXPECT_TRUE(rules.modify);
    EXPECT_EQ(rules.gid, 44U);
    EXPECT_EQ(rules.mode, 0660U);
    EXPECT_EQ(parse_gpu_minor("Model: \t\t NVIDIA H100\nDevice Minor: \t 5\nGPU Excluded:\t No\n"), 5);
    EXPECT_EQ(parse_gpu_minor("Model: x\n"), -1);
}

} // namespace
} // namespace gpuhost::kmod
