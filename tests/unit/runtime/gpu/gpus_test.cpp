// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/gpu/gpus.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

const std::string uuid = "GPU-edfee158-11c1-52b8-0517-92f30e7fac88";

std::string information(const std::string& gpu_uuid, int minor, const std::string& excluded = "No") {
    return "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 408\nGPU UUID: \t " + gpu_uuid +
           "\nBus Type: \t PCIe\nBus Location: \t 0000:06:00.0\nDevice Minor: \t " + std::to_string(minor) +
           "\nGPU Excluded:\t " + excluded + "\n";
}

TEST(Gpus, GpuIsReadFromItsInformationFile) {
    EXPECT_EQ(parse_gpu("0000:06:00.0", information(uuid, 3)), (Gpu{"0000:06:00.0", uuid, 3, {}}));
}

TEST(Gpus, UnknownUuidIsEmpty) {
    EXPECT_EQ(parse_gpu("a", information("GPU-" + std::string(8, '?') + "-0000", 0))->uuid, "");
    EXPECT_EQ(parse_gpu("a", information("nothing of ours", 0))->uuid, "");
}

TEST(Gpus, ExcludedGpuIsOmitted) {
    EXPECT_EQ(parse_gpu("a", information(uuid, 0, "Yes")), std::nullopt);
    EXPECT_EQ(parse_gpu("a", "Model: x\n"), std::nullopt);
    EXPECT_EQ(parse_gpu("a", "Device Minor: 99999999999\n"), std::nullopt);
    EXPECT_EQ(parse_gpu("a", "Device Minor: 255.\n"), std::nullopt);
}

TEST(Gpus, IndexFollowsPciAddressesNotMinors) {
    const tests::TempDir host;
    // Domain 10000 is the last, though its name sorts before the others.
    for (const auto& [address, minor] : {std::pair("10000:01:00.0", 0), std::pair("0000:c1:00.0", 1),
                                         std::pair("0000:06:00.0", 2), std::pair("000a:06:00.1", 3)})
        host.write("proc/driver/nvidia/gpus/" + std::string(address) + "/information",
                   information(uuid, minor));
    host.write("sys/bus/pci/devices/0000:06:00.0/drm/card1/dev", "");
    host.write("sys/bus/pci/devices/0000:06:00.0/drm/renderD128/dev", "");
    const auto gpus = read_gpus(host.root());
    ASSERT_EQ(gpus.size(), 4U);
    EXPECT_EQ(gpus[0].address, "0000:06:00.0");
    EXPECT_EQ(gpus[0].drm, (std::vector<std::string>{"card1", "renderD128"}));
    EXPECT_EQ(gpus[1].address, "0000:c1:00.0");
    EXPECT_EQ(gpus[2].address, "000a:06:00.1");
    EXPECT_EQ(gpus[3].address, "10000:01:00.0");
    EXPECT_EQ(gpus[3].minor, 0U);
}

TEST(Gpus, MigInstancesFollowFromDriverCapabilities) {
    const tests::TempDir host;
    EXPECT_TRUE(mig_instances(host.root()).empty());
    for (const char* path : {"mig/config", "gpu0/mig/gi1/access", "gpu0/mig/gi1/ci0/access",
                             "gpu10/mig/gi2/access", "gpu1/other/gi3/access", "fabric/mig/gi4/access"})
        host.write("proc/driver/nvidia/capabilities/" + std::string(path), "");
    EXPECT_EQ(mig_instances(host.root()),
              (std::vector<std::string>{"gpu0/mig/gi1", "gpu0/mig/gi1/ci0", "gpu10/mig/gi2"}));
}

TEST(Gpus, WithoutDriverNoGpusAreFound) {
    const tests::TempDir host;
    EXPECT_TRUE(read_gpus(host.root()).empty());
}

} // namespace
} // namespace gpuhost::runtime
