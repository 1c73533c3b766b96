// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/layout.hpp"

#include <gtest/gtest.h>

namespace gpuhost::kmod {
namespace {

using content::ArchiveEntry;

#if defined(__aarch64__)
const std::string triplet = "aarch64-linux-gnu";
#else
const std::string triplet = "x86_64-linux-gnu";
#endif

std::string placed(const std::string& path, unsigned mode = 0644,
                   ArchiveEntry::Type type = ArchiveEntry::Type::File) {
    ArchiveEntry entry;
    entry.path = path;
    entry.mode = mode;
    entry.type = type;
    const auto place = place_in_userland(entry);
    return place ? place->path + (place->executable ? "*" : "") : "";
}

TEST(LayoutTest, PlacesDebiansFiles) {
    EXPECT_EQ(placed("usr/lib/" + triplet + "/nvidia/current/libcuda.so.535.261.03"),
              "lib/libcuda.so.535.261.03");
    EXPECT_EQ(placed("usr/lib/nvidia/current/nvidia-smi", 0755), "bin/nvidia-smi*");
    EXPECT_EQ(placed("lib/firmware/nvidia/535.261.03/gsp_ga10x.bin"), "firmware/gsp_ga10x.bin");
    EXPECT_EQ(placed("usr/lib/firmware/nvidia/550.163.01/gsp_ga10x.bin"), "firmware/gsp_ga10x.bin");
    EXPECT_EQ(placed("usr/share/doc/libcuda1/copyright"), "doc/libcuda1/copyright");
}

TEST(LayoutTest, PlacesUbuntusFiles) {
    EXPECT_EQ(placed("usr/lib/" + triplet + "/libnvidia-ml.so.535.261.03"), "lib/libnvidia-ml.so.535.261.03");
    EXPECT_EQ(placed("usr/bin/nvidia-smi", 0755), "bin/nvidia-smi*");
}

TEST(LayoutTest, PlacesRpmsFiles) {
    EXPECT_EQ(placed("usr/lib64/libnvidia-ml.so.550.163.01"), "lib/libnvidia-ml.so.550.163.01");
    EXPECT_EQ(placed("usr/lib64/libcuda.so.1", 0777, ArchiveEntry::Type::SymbolicLink), "lib/libcuda.so.1");
    EXPECT_EQ(placed("usr/bin/nvidia-persistenced", 0755), "bin/nvidia-persistenced*");
    EXPECT_EQ(placed("usr/share/licenses/nvidia-driver/LICENSE"), "doc/nvidia-driver/LICENSE");
    EXPECT_EQ(placed("usr/lib/libcuda.so.550.163.01"), "") << "32 bits";
    EXPECT_EQ(placed("usr/lib64/xorg/modules/drivers/nvidia_drv.so"), "");
    EXPECT_EQ(placed("usr/lib64/vdpau/libvdpau_nvidia.so.550.163.01"), "");
}

TEST(LayoutTest, FindsBuiltModules) {
    const auto module = [](const std::string& path) {
        ArchiveEntry entry;
        entry.path = path;
        const auto place = module_place(entry);
        return place ? place->kernel + " " + place->file : "";
    };
    EXPECT_EQ(module("lib/modules/5.14.0-503.11.1.el9_5.x86_64/extra/drivers/video/nvidia/nvidia-uvm.ko.xz"),
              "5.14.0-503.11.1.el9_5.x86_64 nvidia-uvm.ko.xz");
    EXPECT_EQ(module("usr/lib/modules/6.1.0-50-amd64/extra/nvidia.ko"), "6.1.0-50-amd64 nvidia.ko");
    for (const char* path : {"lib/modules/6.1.0-50-amd64/extra/zfs.ko", "lib/modules/nvidia.ko",
                             "lib/modules/6.1.0-50-amd64/extra/nvidia.o", "usr/src/nvidia/nvidia.ko"})
        EXPECT_EQ(module(path), "") << path;
}

TEST(LayoutTest, OnlyLinksOfLibrariesAreKept) {
    const auto link = ArchiveEntry::Type::SymbolicLink;
    EXPECT_EQ(placed("usr/lib/" + triplet + "/nvidia/current/libcuda.so.1", 0777, link), "lib/libcuda.so.1");
    EXPECT_EQ(placed("usr/bin/nvidia-smi", 0777, link), "");
    EXPECT_EQ(placed("usr/share/doc/libcuda1/copyright", 0777, link), "");
}

TEST(LayoutTest, OtherFilesAreOmitted) {
    for (const char* path :
         {"usr/share/doc/libcuda1/changelog.gz", "usr/share/lintian/overrides/libcuda1",
          "usr/lib/nvidia/current/nvidia-smi.1.gz", "etc/nvidia/nvidia.conf", "lib/systemd/system/x.service",
          "usr/lib/i386-linux-gnu/nvidia/current/libcuda.so.535.261.03",
          "usr/lib/xorg/modules/extensions/libglx.so", "usr/bin/deep/nvidia-smi", ""})
        EXPECT_EQ(placed(path), "") << path;
    EXPECT_EQ(placed("usr/bin/data"), "") << "not executable";
}

TEST(LayoutTest, VersionIsReadFromThePath) {
    EXPECT_EQ(version_in_path("usr/lib/" + triplet + "/nvidia/current/libcuda.so.535.261.03"), "535.261.03");
    EXPECT_EQ(version_in_path("lib/firmware/nvidia/550.163.01/gsp_tu10x.bin"), "550.163.01");
    EXPECT_EQ(version_in_path("usr/lib/" + triplet + "/libnvidia-egl-wayland.so.1.1.10"), std::nullopt);
    EXPECT_EQ(version_in_path("usr/lib/" + triplet + "/libcuda.so.1"), std::nullopt);
    EXPECT_EQ(version_in_path("usr/bin/nvidia-smi"), std::nullopt);
}

TEST(LayoutTest, SourceIsFoundByDkmsConfOrKbuild) {
    ArchiveEntry entry;
    entry.path = "usr/src/nvidia-current-open-550.163.01/dkms.conf";
    EXPECT_EQ(source_directory(entry), "usr/src/nvidia-current-open-550.163.01");
    entry.path = "usr/src/nvidia-open-550.163.01/Kbuild";
    EXPECT_EQ(source_directory(entry), "usr/src/nvidia-open-550.163.01");
    entry.path = "usr/src/nvidia-open-550.163.01/nvidia-uvm/Kbuild";
    EXPECT_EQ(source_directory(entry), std::nullopt);
    entry.path = "usr/src/nvidia-current-open-550.163.01/Makefile";
    EXPECT_EQ(source_directory(entry), std::nullopt);
    entry.path = "usr/src/zfs-2.1/dkms.conf";
    EXPECT_EQ(source_directory(entry), std::nullopt);
}

} // namespace
} // namespace gpuhost::kmod
