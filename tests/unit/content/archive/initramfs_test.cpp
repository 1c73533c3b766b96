// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/initramfs.hpp"
#include "tests/support/archives.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

using base::Errc;
using tests::Member;
using tests::Packing;
using Paths = std::vector<std::string>;

const std::string modules = "usr/lib/modules/6.1.0-50-amd64/";
const std::string nvidia = modules + "updates/dkms/nvidia-current.ko";

/// Returns an early archive as microcode has, with its padding.
std::string early() {
    std::string image = tests::cpio_of({{"kernel/x86/microcode/GenuineIntel.bin", "microcode"}});
    image.resize((image.size() + 511) / 512 * 512, '\0');
    return image;
}

std::vector<Member> system_with(const std::string& path) {
    return {{"bin", {}, Member::Type::Link, "usr/bin"},
            {"dev/console", {}, Member::Type::Device},
            {modules + "kernel/fs/ext4/ext4.ko.xz", "ext4"},
            {path, std::string(300'000, 'n')},
            {"init", "#!/bin/sh\n"}};
}

base::Result<Paths> read(const std::string& image, const InitramfsLimits& limits = {}) {
    const tests::TempDir directory;
    directory.write("image", image);
    const auto fd = directory.root().open_file("/image", O_RDONLY);
    return gpu_modules_of_initramfs({fd->get()}, "image", limits);
}

void expect_bad(const base::Result<Paths>& found, const std::string& why, Errc code = Errc::BadContent) {
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, code) << found.error().message;
    EXPECT_NE(found.error().message.find(why), std::string::npos) << found.error().message;
}

class EachPacking : public testing::TestWithParam<Packing> {};

TEST_P(EachPacking, ImageIsReadAfterPlainArchives) {
    const std::string main = tests::cpio_of(system_with(nvidia), GetParam());
    for (const std::string& front :
         {std::string(), early(), early() + early(), early() + std::string(8, '\0')}) {
        const auto found = read(front + main);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(*found, Paths{nvidia}) << front.size();
    }
    const auto clean =
        read(early() + tests::cpio_of(system_with(modules + "kernel/net/bonding.ko"), GetParam()));
    ASSERT_TRUE(clean) << clean.error().message;
    EXPECT_EQ(*clean, Paths());
}

TEST_P(EachPacking, TruncatedImageIsRefused) {
    const std::string main = tests::cpio_of(system_with(nvidia), GetParam());
    EXPECT_FALSE(read(early() + main.substr(0, main.size() / 2)));
}

INSTANTIATE_TEST_SUITE_P(All, EachPacking,
                         testing::Values(Packing::None, Packing::Gzip, Packing::Xz, Packing::Zstd,
                                         Packing::Bzip2, Packing::Lz4, Packing::Lzma));

TEST(Initramfs, ReadsSeveralArchivesCompressedTogether) {
    const auto found =
        read(early() + tests::packed(tests::cpio_of(system_with(nvidia)) + std::string(12, '\0') +
                                         tests::cpio_of({{"./" + modules + "nouveau.ko", "n"}}),
                                     Packing::Zstd));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, (Paths{nvidia, modules + "nouveau.ko"}));
}

/// Frames the text as "lz4 -l" does, the only lz4 format of the kernel: here one block of literals.
std::string legacy_lz4(const std::string& content) {
    std::size_t left = content.size() - 15;
    std::string block = "\xf0";
    for (; left >= 255; left -= 255)
        block += '\xff';
    block += static_cast<char>(left);
    block += content;
    std::string image = "\x02\x21\x4c\x18";
    for (unsigned shift = 0; shift < 32; shift += 8)
        image += static_cast<char>(block.size() >> shift & 0xffU);
    return image + block;
}

TEST(Initramfs, ReadsLegacyLz4) {
    const auto found = read(early() + legacy_lz4(tests::cpio_of(system_with(nvidia))));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, Paths{nvidia});
}

TEST(Initramfs, LeadingPlainArchiveIsSearchedToo) {
    const auto found =
        read(tests::cpio_of(system_with(nvidia)) + tests::cpio_of({{"init", ""}}, Packing::Gzip));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, Paths{nvidia});
}

TEST(Initramfs, EveryPrefixIsRefusedOrNamesTheModule) {
    const std::string image = tests::cpio_of({{nvidia, "n"}});
    for (std::size_t size = 1; size < 300 && size < image.size(); ++size)
        if (const auto found = read(image.substr(0, size))) {
            EXPECT_EQ(*found, Paths{nvidia}) << size;
        }
    expect_bad(read(image.substr(0, 100)), "ends inside");
}

TEST(Initramfs, WrongSizesAreRefused) {
    std::string image = tests::cpio_of({{nvidia, "n"}});
    std::string huge = image;
    huge.replace(6 + 6 * 8, 8, "ffffffff");
    expect_bad(read(huge), "ends inside");
    std::string name = image;
    name.replace(6 + 11 * 8, 8, "7fffffff");
    expect_bad(read(name), "name has 2147483647 bytes");
    std::string none = image;
    none.replace(6 + 11 * 8, 8, "00000000");
    expect_bad(read(none), "name has 0 bytes");
    image.replace(6 + 6 * 8, 8, "-0000001");
    expect_bad(read(image), "header is not valid");
}

TEST(Initramfs, LimitsAreEnforced) {
    const std::string image = tests::cpio_of(system_with(nvidia), Packing::Gzip);
    expect_bad(read(image, {100, 1U << 30U, 100}), "too large");
    expect_bad(read(image, {1U << 30U, 1'000, 100}), "more than the limit");
    expect_bad(read(image, {1U << 30U, 1U << 30U, 2}), "too many members");
    EXPECT_TRUE(read(image, {1U << 30U, 1U << 20U, 100}));
}

TEST(Initramfs, FilesThatAreNotImagesAreRefused) {
    expect_bad(read("\x89LZO and more of it"), "unknown compression", Errc::Unsupported);
    expect_bad(read(early() + "a text"), "unknown compression", Errc::Unsupported);
    expect_bad(read("0707010 and no more than that, though it is long enough for a header as "
                    "one would expect it in a file like this one is"),
               "header is not valid");
    expect_bad(read("0"), "ends inside");
    const tests::TempDir directory;
    const auto fd = directory.root().open_file("/", O_RDONLY | O_DIRECTORY);
    expect_bad(gpu_modules_of_initramfs({fd->get()}, "image"), "is not a regular file");
    EXPECT_EQ(read("").value_or(Paths{"error"}), Paths()) << "the kernel accepts an empty image too";
}

TEST(Initramfs, ModuleNamesMatchWithAnyCompressionSuffix) {
    for (const char* path :
         {"lib/modules/6.1/nvidia.ko", "usr/lib/modules/6.1/extra/nvidia-uvm.ko.xz",
          "lib/modules/6.1/kernel/drivers/video/nvidia_modeset.ko", "lib/modules/6.1/nvidia-drm.ko.gz",
          "lib/modules/6.1/nvidia-peermem.ko.zst", "lib/modules/6.1/updates/dkms/nvidia-current-drm.ko",
          "lib/modules/6.1/nvidia-tesla-470-uvm.ko", "lib/modules/6.1/nvidia-legacy-390xx.ko",
          "lib/modules/6.1/kernel/drivers/gpu/drm/nouveau/nouveau.ko",
          "var/lib/gpuhost/driver/550.163.01/modules/6.1-open/d/nvidia.ko"})
        EXPECT_TRUE(claims_gpu(path)) << path;
    for (const char* path : {"lib/modules/6.1/kernel/drivers/video/fbdev/nvidia/nvidiafb.ko",
                             "lib/modules/6.1/kernel/drivers/platform/x86/nvidia-wmi-ec-backlight.ko",
                             "lib/firmware/nvidia/gsp.bin", "lib/modules/nvidia.ko", "etc/nvidia.ko",
                             "lib/modules/6.1/nvidia.ko.old", "lib/modules/6.1/nvidia"})
        EXPECT_FALSE(claims_gpu(path)) << path;
}

} // namespace
} // namespace gpuhost::content
