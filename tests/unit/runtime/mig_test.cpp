// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/installed.hpp"
#include "daemon/base/json.hpp"
#include "daemon/runtime/cdi/mig_devices.hpp"
#include "daemon/runtime/gpu/mig_minors.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

TEST(MigMinors, InstanceHasItsDeviceNode) {
    const auto minors = MigMinors::parse("config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n"
                                         "gpu10/gi1/access 1203\n");
    ASSERT_TRUE(minors);
    EXPECT_EQ(minors->of_gpu_instance(0, 1), "/dev/nvidia-caps/nvidia-cap12");
    EXPECT_EQ(minors->of_compute_instance(0, 1, 0), "/dev/nvidia-caps/nvidia-cap13");
    EXPECT_EQ(minors->of_gpu_instance(10, 1), "/dev/nvidia-caps/nvidia-cap1203");
    EXPECT_EQ(minors->of_compute_instance(0, 1, 1), std::nullopt);
    EXPECT_EQ(minors->of_gpu_instance(1, 1), std::nullopt);
    EXPECT_EQ(MigMinors::parse("")->of_gpu_instance(0, 0), std::nullopt);
    EXPECT_TRUE(MigMinors::parse("config 1\nconfig 1\nof-a-later-driver 7\n"));
}

TEST(MigMinors, InvalidLinesAreRefused) {
    for (const char* line :
         {"gpu0/gi1/access", "gpu0/gi1/access ", "gpu0/gi1/access x", "gpu0/gi1/access 1 2",
          "gpu0/gi1/access -1", "gpu0/gi1/access 1048576", "gpu0/gi1/access 99999999999999999999", " 1",
          "\x01\xff", "gpu0/gi1/access\t1"}) {
        const auto minors = MigMinors::parse(std::string("config 1\n") + line + "\n");
        ASSERT_FALSE(minors) << line;
        EXPECT_EQ(minors.error().code, Errc::BadContent);
        EXPECT_EQ(minors.error().message.find("line 2 of /proc/driver/nvidia-caps/mig-minors"), 0U) << line;
    }
    const auto twice = MigMinors::parse("config 1\nconfig 2\n");
    ASSERT_FALSE(twice);
    EXPECT_NE(twice.error().message.find("gives a capability a second minor number"), std::string::npos);
}

TEST(NvmlAnswer, LastLineIsReadBack) {
    const std::vector<NvmlGpu> gpus{
        {0,
         true,
         {{3, "MIG-a1-b2", 5, 1, true, "1g.10gb+gfx", {9856, 16, 1, 2, 3, 4, 5, 6, 7}},
          {4, "MIG-c", 6, 0, false, ""}},
         "",
         "GPU-a",
         "0000:06:00.0",
         "NVIDIA H100 80GB HBM3",
         81559,
         "9.0",
         12040,
         true,
         true,
         "ababab-1.7",
         true,
         {{7, 2}, {8, 4}},
         false,
         false,
         2},
        {7, false, {}, "GPU is lost", "", "", "", 0, ""}};
    const auto again = parse_nvml_answer("half a line of the library\n" + base::dump(to_json(gpus)) + "\n");
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, gpus);
    EXPECT_EQ(*parse_nvml_answer(base::dump(to_json(std::vector<NvmlGpu>()))), std::vector<NvmlGpu>());
}

TEST(NvmlAnswer, ErrorsAndInvalidAnswersFail) {
    const auto told = parse_nvml_answer(R"({"error": "nvmlInit_v2: Driver/library version mismatch"})");
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().message, "NVML: nvmlInit_v2: Driver/library version mismatch");
    const auto instance = [](const std::string& members) {
        return R"({"gpus": [{"minor": 0, "split": true, "instances": [{)" + members + "}]}]}";
    };
    const std::string good = R"("index": 0, "gpu_instance": 1, "compute_instance": 0, "uuid": )";
    EXPECT_TRUE(parse_nvml_answer(instance(good + R"("MIG-a")")));
    for (const std::string& text :
         {std::string(),
          std::string("[]"),
          std::string("{}"),
          std::string(R"({"gpus": 1})"),
          std::string(R"({"gpus": [7]})"),
          std::string(R"({"gpus": [{"minor": -1}]})"),
          instance(""),
          std::string(R"({"gpus": [{"minor": 0, "instances": "no"}]})"),
          instance(good + "0"),
          instance(good + R"("GPU-a")"),
          instance(good + R"("MIG-")"),
          instance(good + R"("MIG-a/1/0")"),
          instance(good + "\"MIG-" + std::string(200, 'a') + "\""),
          instance(good + R"("MIG-a", "profile": "1g 10gb")"),
          std::string(R"({"gpus": [{"minor": 0, "uuid": "MIG-a"}]})"),
          std::string(R"({"gpus": [{"minor": 0, "address": "0000/06"}]})"),
          std::string(R"({"gpus": [{"minor": 0, "model": "a\nb"}]})"),
          std::string(R"({"gpus": [{"minor": 0, "compute_capability": "9 0"}]})"),
          std::string(R"({"gpus": [{"minor": 0, "fabric": "a b"}]})"),
          std::string(R"({"gpus": [{"minor": 0, "cuda_version": -1}]})"),
          std::string(R"({"gpus": [{"minor": 0, "nvlinks": [{"minor": 1}]}]})"),
          std::string(R"({"gpus": [{"minor": 0, "nvlinks": [{"minor": 1, "count": 0}]}]})"),
          std::string(R"({"gpus": [{"minor": 0, "nvlinks": [{"minor": 1, "count": 65}]}]})"),
          std::string(R"({"gpus": [{"minor": 0, "nvlinks": [{"minor": -1, "count": 1}]}]})"),
          std::string(R"({"gpus": [{"minor": 0, "memory_mib": -1}]})"),
          std::string(R"({"gpus": [{"minor": 0, "memory_mib": "7"}]})"),
          std::string(R"({"gpus": [{"minor": 0, "memory_mib": 1099511627777}]})")}) {
        const auto answer = parse_nvml_answer(text);
        ASSERT_FALSE(answer) << text;
        EXPECT_EQ(answer.error().code, Errc::BadContent) << text;
    }
}

/// The sizes are those of an A100 40GB, an A100 80GB and an H100 80GB.
TEST(MigProfile, NamesAreThoseOfNvidia) {
    constexpr std::uint64_t a100 = 42505273344ULL;
    constexpr std::uint64_t a100_80 = 85899345920ULL;
    constexpr std::uint64_t h100 = 85520809984ULL;
    EXPECT_EQ(mig_profile_name(0, {1, 1, 4864, a100}), "1g.5gb");
    EXPECT_EQ(mig_profile_name(7, {1, 1, 4864, a100}), "1g.5gb+me");
    EXPECT_EQ(mig_profile_name(1, {2, 2, 9856, a100}), "2g.10gb");
    EXPECT_EQ(mig_profile_name(2, {3, 1, 19968, a100}), "1c.3g.20gb");
    EXPECT_EQ(mig_profile_name(4, {7, 7, 40192, a100}), "7g.40gb");
    EXPECT_EQ(mig_profile_name(0, {1, 1, 9728, a100_80}), "1g.10gb");
    EXPECT_EQ(mig_profile_name(9, {1, 1, 20096, h100}), "1g.20gb");
    EXPECT_EQ(mig_profile_name(10, {1, 1, 9856, h100}), "1g.10gb+gfx");
    EXPECT_EQ(mig_profile_name(14, {2, 2, 20096, h100}), "2g.20gb-me");
    EXPECT_EQ(mig_profile_name(16, {2, 2, 20096, h100}), "2g.20gb+me.all");
    for (const MigSize& unknown :
         {MigSize{0, 1, 1, 1}, MigSize{1, 0, 1, 1}, MigSize{1, 1, 0, 1}, MigSize{1, 1, 1, 0}})
        EXPECT_EQ(mig_profile_name(0, unknown), "");
}

/// NVML is not queried for another root, so a split GPU is omitted with the reason.
TEST(MigDevices, WithoutNvmlOnlySplitGpusAreOmitted) {
    const tests::TempDir host;
    const base::Root root = host.root();
    const NodeReader nodes(root, "");
    DriverFiles driver;
    driver.version = "550.163.01";
    EXPECT_TRUE(MigDevices(root, nodes, driver).problems().empty());
    host.write("proc/driver/nvidia/capabilities/gpu1/mig/gi1/access", "");
    const Gpu split{"0000:06:00.0", "GPU-a", 1, {}};
    const auto problem = [&] {
        MigDevices mig(root, nodes, driver);
        EXPECT_EQ(mig.instances({"0000:07:00.0", "GPU-b", 0, {}}), std::nullopt);
        EXPECT_TRUE(mig.problems().empty());
        const auto instances = mig.instances(split);
        EXPECT_TRUE(instances && instances->empty());
        return mig.problems().empty() ? "" : mig.problems().front();
    };
    const std::string begin = "the MIG instances of GPU 0000:06:00.0 are left out: ";
    EXPECT_NE(problem().find("mig-minors"), std::string::npos);
    host.write("proc/driver/nvidia-caps/mig-minors", "gpu1/gi1/access 12\n");
    EXPECT_EQ(problem(), begin + "the driver has no NVML library");
    driver.libraries = {{"/usr/lib64/libnvidia-ml.so.550.163.01", "/usr/lib64/libnvidia-ml.so.550.163.01"}};
    EXPECT_EQ(problem(), begin + "'" + base::installed_program("gpuhost-nvml") +
                             "' is not a program of the running host");
}

} // namespace
} // namespace gpuhost::runtime
