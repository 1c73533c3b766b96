// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/info.hpp"
#include "tests/support/elf_images.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using tests::module_image;

TEST(ModuleInfoTest, ReadsModinfoAndSymbolVersions) {
    const std::string image = module_image({{"firmware", "nvidia/550.163.01/gsp_ga10x.bin"},
                                            {"version", "550.163.01"},
                                            {"license", "Dual MIT/GPL"},
                                            {"srcversion", "5D600619BAB1458078D7201"},
                                            {"depends", "drm,i2c-core"},
                                            {"name", "nvidia"},
                                            {"vermagic", "6.1.0-50-amd64 SMP preempt "}},
                                           {{"module_layout", 0xdeadbeefU}, {"printk", 7}});
    const auto info = parse_module_info(image, "nvidia.ko");
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->name, "nvidia");
    EXPECT_EQ(info->version, "550.163.01");
    EXPECT_EQ(info->srcversion, "5D600619BAB1458078D7201");
    EXPECT_EQ(info->kernel(), "6.1.0-50-amd64");
    EXPECT_EQ(info->flavour(), "open");
    EXPECT_EQ(info->depends, (std::vector<std::string>{"drm", "i2c-core"}));
    EXPECT_EQ(info->firmware, std::vector<std::string>{"nvidia/550.163.01/gsp_ga10x.bin"});
    const auto versions = parse_symbol_versions(image, "nvidia.ko");
    ASSERT_TRUE(versions);
    EXPECT_EQ(versions->at("module_layout"), 0xdeadbeefU);
    EXPECT_EQ(versions->at("printk"), 7U);
}

TEST(ModuleInfoTest, NvidiaLicenceIsTheProprietaryFlavour) {
    const auto info = parse_module_info(
        module_image({{"name", "nvidia"}, {"vermagic", "6.1 "}, {"license", "NVIDIA"}}), "x");
    ASSERT_TRUE(info);
    EXPECT_EQ(info->flavour(), "proprietary");
}

TEST(ModuleInfoTest, UnknownParametersAreNamed) {
    const auto info = parse_module_info(
        module_image({{"name", "nvidia"}, {"vermagic", "6.1 "}, {"parmtype", "NVreg_A_b:int"}}), "x");
    ASSERT_TRUE(info);
    EXPECT_EQ(info->unknown_parameters("NVreg_A-b=1 dyndbg=+p NVreg_A_b"), std::vector<std::string>{});
    EXPECT_EQ(info->unknown_parameters("NVreg_A=1 x"), (std::vector<std::string>{"NVreg_A", "x"}));
    EXPECT_TRUE(info->unknown_parameters("").empty());
}

TEST(ModuleInfoTest, EveryTruncationIsRefused) {
    const std::string image = tests::nvidia_module("nvidia", "550.163.01", "6.1.0-50-amd64");
    for (std::size_t size = 0; size < image.size(); ++size) {
        const auto info = parse_module_info(std::string_view(image).substr(0, size), "nvidia.ko");
        ASSERT_FALSE(info) << size;
        EXPECT_EQ(info.error().code, Errc::BadContent);
        EXPECT_EQ(info.error().message.find("nvidia.ko: "), 0U);
    }
}

TEST(ModuleInfoTest, ModifiedBytesAreReadSafely) {
    const std::string image = module_image({{"name", "nvidia"}, {"vermagic", "6.1 "}}, {{"printk", 7}});
    for (std::size_t at = 0; at < image.size(); ++at)
        for (const char value : {'\x00', '\x7f', '\xff'}) {
            std::string broken = image;
            broken[at] = value;
            (void)parse_module_info(broken, "x"); // checked by the sanitizers
            (void)parse_symbol_versions(broken, "x");
        }
}

TEST(ModuleInfoTest, RefusesOtherElfFiles) {
    const auto info = parse_module_info(tests::library_image("libcuda.so.1"), "libcuda.so");
    ASSERT_FALSE(info);
    EXPECT_NE(info.error().message.find("not a kernel module"), std::string::npos);
    std::string foreign = tests::nvidia_module("nvidia", "550.163.01", "6.1");
    foreign[18] = '\x28'; // EM_ARM
    EXPECT_NE(parse_module_info(foreign, "x").error().message.find("another machine architecture"),
              std::string::npos);
}

} // namespace
} // namespace gpuhost::kmod
