// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/pe_sections.hpp"
#include "daemon/content/archive/unified_image.hpp"
#include "tests/support/archives.hpp"
#include "tests/support/efi_program.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::content {
namespace {

using base::Errc;
using tests::efi_program;
using tests::Packing;
using Paths = std::vector<std::string>;

const std::string kernel = "6.1.0-50-amd64";
const std::string nvidia = "usr/lib/modules/" + kernel + "/updates/nvidia.ko";
const std::string nouveau = "usr/lib/modules/" + kernel + "/kernel/nouveau.ko.xz";

std::string initrd(const std::string& path, Packing packing = Packing::Zstd) {
    return tests::cpio_of({{"kernel/x86/microcode/AuthenticAMD.bin", "microcode"}}) +
           tests::cpio_of({{"init", "#!/bin/sh\n"}, {path, std::string(5'000, 'n')}}, packing);
}
std::string unified(const std::string& image, const std::string& release = kernel) {
    return efi_program({{".text", "stub"},
                        {".osrel", "ID=debian\n"},
                        {".uname", release},
                        {".linux", std::string(9'000, 'k')},
                        {".initrd", image}});
}

template <class Read>
auto with_file(const std::string& content, const Read& read) {
    const tests::TempDir directory;
    directory.write("image", content);
    const auto fd = directory.root().open_file("/image", O_RDONLY);
    return read(fd->get());
}
base::Result<Paths> modules_in(const std::string& program, const InitramfsLimits& limits = {}) {
    return with_file(program,
                     [&](int fd) { return gpu_modules_of_unified_image(fd, kernel, "image", limits); });
}
base::Result<std::vector<PeSection>> sections_of(const std::string& program) {
    return with_file(program, [](int fd) { return read_pe_sections(fd, "image"); });
}

void expect_bad(const base::Result<Paths>& found, const std::string& why) {
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::BadContent) << found.error().message;
    EXPECT_NE(found.error().message.find(why), std::string::npos) << found.error().message;
}

TEST(UnifiedImage, InitramfsOfEveryCompressionIsRead) {
    for (const Packing packing : {Packing::None, Packing::Gzip, Packing::Xz, Packing::Zstd, Packing::Lz4}) {
        const auto found = modules_in(unified(initrd(nvidia, packing)));
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(*found, Paths{nvidia});
    }
    EXPECT_EQ(modules_in(unified(initrd("usr/lib/modules/k/ext4.ko"))).value_or(Paths{"error"}), Paths());
}

TEST(UnifiedImage, ImageOfAnotherKernelIsIgnored) {
    EXPECT_EQ(modules_in(unified(initrd(nvidia), "6.1.0-51-amd64")).value_or(Paths{"error"}), Paths());
    EXPECT_EQ(modules_in(unified(initrd(nvidia), kernel + "\n")).value_or(Paths()), Paths{nvidia});
    EXPECT_EQ(modules_in(efi_program({{".initrd", initrd(nvidia)}})).value_or(Paths()), Paths{nvidia})
        << "only the file's name identifies the kernel";
}

TEST(UnifiedImage, InitramfsOfEveryProfileIsRead) {
    EXPECT_EQ(
        modules_in(
            efi_program({{".initrd", initrd(nvidia)}, {".profile", "ID=b"}, {".initrd", initrd(nouveau)}}))
            .value_or(Paths()),
        (Paths{nvidia, nouveau}));
    EXPECT_EQ(modules_in(efi_program({{".linux", "k"}, {".initrd", ""}})).value_or(Paths{"error"}), Paths());
    EXPECT_EQ(modules_in(efi_program({})).value_or(Paths{"error"}), Paths());
    expect_bad(modules_in(efi_program(
                   std::vector<tests::EfiSection>(most_profiles + 1, {".initrd", initrd(nvidia)}))),
               "too many images");
}

TEST(UnifiedImage, ImageTruncatedByItsSectionIsRefused) {
    std::string program = unified(initrd(nvidia, Packing::None));
    tests::put_number(program, tests::efi_table + 4 * tests::efi_row + tests::EfiMemorySize, 200, 4);
    expect_bad(modules_in(program), "ends inside an archive");
    expect_bad(modules_in(unified(initrd(nvidia)), {1'000, 1U << 30U, 2}), "too many members");
    expect_bad(modules_in(unified(initrd(nvidia)), {100, 1U << 30U, 100}), "too large");
}

TEST(PeSections, OffsetsAndSizesMatchTheTable) {
    const std::string program = unified("image");
    const auto sections = sections_of(program);
    ASSERT_TRUE(sections) << sections.error().message;
    ASSERT_EQ(sections->size(), 5U);
    const PeSection& last = sections->back();
    EXPECT_EQ(last.name, ".initrd");
    EXPECT_EQ(program.substr(last.offset, last.size), "image") << "without the padding";
    EXPECT_EQ(sections_of(efi_program({{".bigname", "x"}}))->front().name, ".bigname")
        << "all eight bytes of the name";
}

TEST(PeSections, EveryPrefixIsRefused) {
    const std::string program = efi_program({{".uname", kernel}, {".initrd", std::string(600, 'i')}});
    for (std::size_t size = 0; size < program.size() - 512 + 600 % 512; ++size)
        EXPECT_FALSE(sections_of(program.substr(0, size))) << size;
    EXPECT_TRUE(sections_of(program));
}

TEST(PeSections, WrongNumbersAreRefused) {
    const std::string program = efi_program({{".uname", kernel}, {".initrd", std::string(600, 'i')}});
    const auto refused = [&](std::size_t at, std::uint64_t value, std::size_t size) {
        std::string harmed = program;
        tests::put_number(harmed, at, value, size);
        const auto sections = sections_of(harmed);
        return sections ? "" : sections.error().message.substr(sections.error().message.find(' ') + 1);
    };
    constexpr std::size_t second = tests::efi_table + tests::efi_row;
    EXPECT_EQ(refused(0x3c, 0xffffffff, 4), "is not a UEFI program");
    EXPECT_EQ(refused(0x80, 0, 2), "is not a UEFI program");
    EXPECT_EQ(refused(0, 0, 2), "is not a UEFI program");
    EXPECT_EQ(refused(0x86, 0xffff, 2), "has too many sections");
    EXPECT_EQ(refused(0x86, most_pe_sections, 2), "ends inside its section table");
    EXPECT_EQ(refused(0x94, 0xffff, 2), "ends inside its section table");
    EXPECT_EQ(refused(second + tests::EfiFileOffset, 0xfffffff0, 4), "ends inside a section");
    EXPECT_EQ(refused(tests::efi_table + tests::EfiFileOffset, 1'024, 4), "has overlapping sections");
    std::string huge = program;
    tests::put_number(huge, second + tests::EfiMemorySize, 0xffffffff, 4);
    EXPECT_EQ(sections_of(huge)->back().size, 1'024U) << "missing bytes are zeros";
    tests::put_number(huge, second + tests::EfiFileSize, 0xffffffff, 4);
    EXPECT_FALSE(sections_of(huge));
}

TEST(PeSections, DirectoryIsRefused) {
    const tests::TempDir directory;
    const auto fd = directory.root().open_file("/", O_RDONLY | O_DIRECTORY);
    EXPECT_FALSE(read_pe_sections(fd->get(), "image"));
}

} // namespace
} // namespace gpuhost::content
