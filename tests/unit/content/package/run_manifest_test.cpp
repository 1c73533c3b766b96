// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/package/run_manifest.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

const std::string header = "NVIDIA Accelerated Graphics Driver for Linux-x86_64\n550.163.01\nnvidia.ko\n"
                           "nvidia nvidia-uvm\n\nnvidia\nnvidia.o\nkernel\n";

/// Returns the destination of the file that this line describes.
std::string place(const std::string& line) {
    const auto manifest = parse_run_manifest(header + line + "\n", "x.run");
    if (!manifest)
        return "error: " + manifest.error().message;
    const auto& [name, files] = *manifest->files.begin();
    return installed_path(name, files.front(), manifest->version);
}

TEST(RunManifestTest, FilesHaveTheSamePathsAsInPackages) {
    EXPECT_EQ(place("libcuda.so.550.163.01 0755 CUDA_LIB NATIVE / MODULE:cuda"),
              "usr/lib64/libcuda.so.550.163.01");
    EXPECT_EQ(place("libnvidia-ml.so.550.163.01 0755 UTILITY_LIB NATIVE MODULE:ml"),
              "usr/lib64/libnvidia-ml.so.550.163.01");
    EXPECT_EQ(place("libcuda.so.1 0000 CUDA_SYMLINK NATIVE / libcuda.so.550.163.01"),
              "usr/lib64/libcuda.so.1");
    EXPECT_EQ(place("nvidia-smi 0755 UTILITY_BINARY"), "usr/bin/nvidia-smi");
    EXPECT_EQ(place("nvidia-modprobe 4755 NVIDIA_MODPROBE /"), "usr/bin/nvidia-modprobe");
    EXPECT_EQ(place("firmware/gsp_ga10x.bin 0644 FIRMWARE INHERIT_PATH_DEPTH:1"),
              "usr/lib/firmware/nvidia/550.163.01/gsp_ga10x.bin");
    EXPECT_EQ(place("kernel/dkms.conf 0644 DKMS_CONF INHERIT_PATH_DEPTH:1"),
              "usr/src/nvidia-550.163.01/dkms.conf");
    EXPECT_EQ(place("kernel-open/nvidia/nv.c 0644 KERNEL_MODULE_SRC INHERIT_PATH_DEPTH:1"),
              "usr/src/nvidia-open-550.163.01/nvidia/nv.c");
    EXPECT_EQ(place("LICENSE 0644 DOCUMENTATION /"), "usr/share/licenses/nvidia-driver/LICENSE");
}

TEST(RunManifestTest, UnneededFilesAreOmitted) {
    for (const char* line :
         {"32/libcuda.so.550.163.01 0755 CUDA_LIB COMPAT32 /", "nvidia-installer 0755 INSTALLER_BINARY",
          "nvidia_drv.so 0755 XMODULE_SHARED_LIB drivers", "libGL.so.1.7.0 0755 GLX_CLIENT_LIB NATIVE",
          "libOpenCL.so.1.0.0 0755 OPENCL_WRAPPER_LIB NATIVE /", "nvidia-settings 0755 UTILITY_BINARY",
          "nvidia-smi.1.gz 0644 MANPAGE /", "new 0644 A_TYPE_TO_COME whatever",
          "kernel.c 0644 KERNEL_MODULE_SRC x"})
        EXPECT_EQ(place(line), "") << line;
}

TEST(RunManifestTest, EmptyLineEndsTheManifest) {
    const auto manifest = parse_run_manifest(header + "a 0644 FIRMWARE\n\nrubbish\n", "x.run");
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->files.size(), 1U);
    EXPECT_EQ(manifest->version, "550.163.01");
}

TEST(RunManifestTest, RefusesMalformedManifests) {
    const auto refused = [](const std::string& text) {
        const auto manifest = parse_run_manifest(text, "x.run");
        return manifest ? "was accepted" : manifest.error().message;
    };
    EXPECT_NE(refused("").find("ends before its files"), std::string::npos);
    EXPECT_NE(refused("x\n1.2-3\n3\n4\n5\n6\n7\n8\n").find("line 2: '1.2-3' is not a driver version"),
              std::string::npos);
    for (const char* line : {"../../etc/passwd 0644 FIRMWARE", "/etc/passwd 0644 FIRMWARE", "a 0999 FIRMWARE",
                             "a 0644", "a 0644 firm;ware", "libcuda.so 0000 CUDA_SYMLINK"})
        EXPECT_NE(refused(header + line + "\n").find("'.manifest' line 9: "), std::string::npos) << line;
    std::string many = header;
    for (int i = 0; i <= 20'000; ++i)
        many += std::to_string(i) + " 0644 FIRMWARE\n";
    EXPECT_NE(refused(many).find("more than 20000 files"), std::string::npos);
}

} // namespace
} // namespace gpuhost::content
