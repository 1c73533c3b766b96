// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/kernel_state.hpp"
#include "kmod/module/symbol_versions.hpp"
#include "kmod/units/client_units.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

TEST(ModuleName, NameHasUnderscoresAndNoSuffix) {
    EXPECT_EQ(module_name("/a/b/nvidia-uvm.ko.xz"), "nvidia_uvm");
    EXPECT_EQ(module_name("nvidia_drm"), "nvidia_drm");
}

TEST(CharDrivers, BlockDevicesAreIgnored) {
    const std::string text =
        "Character devices:\n  1 mem\n195 nvidia-frontend\n510 nvidia-uvm\n\nBlock devices:\n259 nvidia-no\n";
    EXPECT_EQ(parse_char_drivers(text).size(), 3U);
    EXPECT_EQ(nvidia_majors(text), (std::set<unsigned>{195, 510}));
    EXPECT_EQ(nvidia_majors(""), std::set<unsigned>{195});
}

class KernelState : public testing::Test {
  protected:
    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(KernelState, BuiltInModuleIsNotLoaded) {
    directory_.write("sys/module/drm/parameters/debug", "0\n");
    EXPECT_FALSE(loaded_module(root_, "drm"));
}

TEST_F(KernelState, LoadedDriverIncludesItsHolders) {
    for (const char* name : {"nvidia", "gdrdrv", "nvidia_fs", "unrelated"}) {
        directory_.write("sys/module/" + std::string(name) + "/initstate", "live\n");
        directory_.write("sys/module/" + std::string(name) + "/refcnt", "2\n");
    }
    directory_.write("sys/module/nvidia/holders/gdrdrv/x", "");
    directory_.write("sys/module/gdrdrv/holders/nvidia_fs/x", "");
    const auto modules = loaded_driver(root_);
    ASSERT_EQ(modules.size(), 3U);
    EXPECT_EQ(modules[1].name, "nvidia");
    EXPECT_EQ(modules[1].refcnt, 2);
}

/// Debian's cloud kernels have no DRM.
TEST_F(KernelState, DriverIsCompleteWithoutDrm) {
    for (const char* name : {"nvidia", "nvidia_drm"})
        directory_.write("sys/module/" + std::string(name) + "/initstate", "live\n");
    EXPECT_EQ(loaded_driver(root_).size(), 2U) << "nvidia_drm has no holders and holds no module there";
}

TEST_F(KernelState, DriverIsCompleteWithoutModuleUnload) {
    for (const char* name : {"nvidia", "nvidia_uvm", "nvidia_modeset"})
        directory_.write("sys/module/" + std::string(name) + "/initstate", "live\n");
    EXPECT_EQ(loaded_driver(root_).size(), 3U) << "without CONFIG_MODULE_UNLOAD there are no holders";
}

TEST_F(KernelState, NvidiasDisplayControllersAreGpus) {
    const auto add = [&](const std::string& address, const char* vendor, const char* type) {
        directory_.write("sys/bus/pci/devices/" + address + "/vendor", vendor);
        directory_.write("sys/bus/pci/devices/" + address + "/class", type);
    };
    add("0000:01:00.0", "0x10de\n", "0x030200\n");
    add("0000:01:00.1", "0x10de\n", "0x040300\n"); // its sound function
    add("0000:02:00.0", "0x1a03\n", "0x030000\n"); // the BMC's display
    ASSERT_EQ(nvidia_gpus(root_).size(), 1U);
    EXPECT_EQ(nvidia_gpus(root_)[0].address, "0000:01:00.0");
}

struct Enforcement {
    const char* sig_enforce;
    const char* lockdown;
    const char* why;
};

TEST_F(KernelState, EnforcementOfSignaturesIsRead) {
    for (const Enforcement& row : {Enforcement{"N\n", "[none] integrity confidentiality\n", ""},
                                   Enforcement{"Y\n", "[none] integrity\n", "sig_enforce"},
                                   Enforcement{"N\n", "none [integrity] confidentiality\n", "integrity"}}) {
        directory_.write("sys/module/module/parameters/sig_enforce", row.sig_enforce);
        directory_.write("sys/kernel/security/lockdown", row.lockdown);
        const std::string why = signature_enforcement(root_);
        EXPECT_EQ(why.empty(), std::string_view(row.why).empty()) << why;
        EXPECT_NE(why.find(row.why), std::string::npos) << why;
    }
}

TEST_F(KernelState, VersionOfBothFlavoursIsRead) {
    directory_.write("proc/driver/nvidia/version",
                     "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.163.01  "
                     "Release Build\nGCC version:  gcc version 12.2.0\n");
    EXPECT_EQ(served_version(root_), "550.163.01");
    directory_.write(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Thu\nGCC version: 12.2.0\n");
    EXPECT_EQ(served_version(root_), "535.261.03");
}

TEST_F(KernelState, ServicesWithProcessesAreActive) {
    directory_.write("sys/fs/cgroup/system.slice/a.service/cgroup.procs", "12\n");
    directory_.write("sys/fs/cgroup/system.slice/b.service/cgroup.procs", "");
    directory_.write("sys/fs/cgroup/system.slice/c.service/cgroup.procs", "");
    directory_.write("sys/fs/cgroup/system.slice/c.service/cgroup.events", "populated 1\nfrozen 0\n");
    EXPECT_EQ(active_units(root_, {"c.service", "b.service", "absent.service", "a.service"}),
              (std::vector<std::string>{"c.service", "a.service"}));
}

TEST_F(KernelState, ServicesAreFoundInAnySlice) {
    directory_.write("sys/fs/cgroup/gpu.slice/gpu-mon.slice/a.service/cgroup.procs", "12\n");
    directory_.write("sys/fs/cgroup/systemd/system.slice/system-b.slice/b@0.service/cgroup.procs", "13\n");
    directory_.write("sys/fs/cgroup/user.slice/user-9.slice/user@9.service/app.slice/c.service/cgroup.procs",
                     "14\n");
    EXPECT_EQ(active_units(root_, {"a.service", "b@0.service", "c.service"}),
              (std::vector<std::string>{"a.service", "b@0.service"}))
        << "a user's service with this name is a different one";
}

TEST_F(KernelState, SymbolVersionsAreReadFromTheHeaders) {
    const std::string text =
        "0x12345678\tprintk\tvmlinux\tEXPORT_SYMBOL\t\n0xffffffff\tpci_iomap\tvmlinux\tEXPORT_SYMBOL\n"
        "garbage\n0xzz\tbad\n";
    EXPECT_FALSE(kernel_symbol_versions(root_, "6.1"));
    directory_.write("lib/modules/6.1/build/Module.symvers", text);
    const auto versions = kernel_symbol_versions(root_, "6.1");
    ASSERT_TRUE(versions);
    EXPECT_EQ(versions->size(), 2U);
    EXPECT_EQ(differing_symbols(*versions, {{"printk", 0x12345678}, {"pci_iomap", 1}, {"nvidia_p2p", 2}}),
              std::vector<std::string>{"pci_iomap"});
}

} // namespace
} // namespace gpuhost::kmod
