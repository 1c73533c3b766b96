// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook_cuda_compat.hpp"
#include "tests/support/tmpdir.hpp"

#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using Branches = std::vector<std::int64_t>;

template <class T>
std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// An ELF file with one note section as libcuda's compat packages have it.
std::string library(const std::string& description,
                    std::string name = std::string("NVIDIA Corporation\0", 19),
                    const std::string& section = ".note.cuda.fwd_compatibility") {
    const Elf64_Nhdr note{static_cast<Elf64_Word>(name.size()), static_cast<Elf64_Word>(description.size()),
                          1};
    name.resize((name.size() + 3) / 4 * 4, '\0');
    const std::string content = bytes_of(note) + name + description;
    const std::string names = std::string(1, '\0') + section + '\0';

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 1;
    Elf64_Shdr strings{};
    strings.sh_type = SHT_STRTAB;
    strings.sh_offset = sizeof header + 3 * sizeof strings;
    strings.sh_size = names.size();
    Elf64_Shdr notes{};
    notes.sh_name = 1;
    notes.sh_type = SHT_NOTE;
    notes.sh_offset = strings.sh_offset + names.size();
    notes.sh_size = content.size();
    return bytes_of(header) + bytes_of(Elf64_Shdr{}) + bytes_of(strings) + bytes_of(notes) + names + content;
}

std::optional<Branches> branches_of(const std::string& content) {
    const tests::TempDir dir;
    dir.write("library", content);
    const base::UniqueFd file(::open(dir.path("library").c_str(), O_RDONLY | O_CLOEXEC));
    return compat_branches(file.get());
}

const std::string json = R"({"Format":1,"CUDA Version":"12.8","Driver":[535,550,560],"Device":[1]})";

TEST(CudaCompat, ReadsTheBranchesOfTheNote) {
    EXPECT_EQ(branches_of(library(json)), (Branches{535, 550, 560}));
    EXPECT_EQ(branches_of(library(json + '\0')), (Branches{535, 550, 560}));
    EXPECT_EQ(branches_of(library(R"({"Driver":[535,"550"]})")), Branches{535});
}

TEST(CudaCompat, WhatIsNotNvidiasNoteSaysNothing) {
    EXPECT_EQ(branches_of(library(json, std::string("GNU\0", 4))), std::nullopt);
    EXPECT_EQ(branches_of(library(json, std::string("NVIDIA Corporation\0", 19), ".note.other")),
              std::nullopt);
    EXPECT_EQ(branches_of(library("{")), std::nullopt);
    EXPECT_EQ(branches_of(library("{}")), std::nullopt);
    EXPECT_EQ(branches_of(library("")), std::nullopt);
    EXPECT_EQ(branches_of("no ELF"), std::nullopt);
    EXPECT_EQ(branches_of(""), std::nullopt);
}

TEST(CudaCompat, ADamagedLibrarySaysNothingAndDoesNoHarm) {
    const std::string whole = library(json);
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(branches_of(whole.substr(0, size)), std::nullopt) << size;
    for (std::size_t at = 0; at < whole.size() - json.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = '\xff';
        (void)branches_of(damaged);
    }
}

TEST(CudaCompat, IsPreferredWhereItIsNewerAndMadeForTheHost) {
    EXPECT_TRUE(prefers_compat("570.86.10", "535.261.03", Branches{535, 550}));
    EXPECT_FALSE(prefers_compat("570.86.10", "545.23.08", Branches{535, 550})) << "not made for this branch";
    EXPECT_FALSE(prefers_compat("535.54.03", "535.261.03", Branches{535})) << "older";
    EXPECT_FALSE(prefers_compat("535.261.03", "535.261.03", Branches{535})) << "the same";
    EXPECT_TRUE(prefers_compat("535.261.04", "535.261.03", Branches{535}));
}

TEST(CudaCompat, WithoutANoteMajorVersionsDecide) {
    EXPECT_TRUE(prefers_compat("550.1", "99.261.03", std::nullopt)) << "as numbers";
    EXPECT_FALSE(prefers_compat("535.300.1", "535.261.03", std::nullopt));
    EXPECT_FALSE(prefers_compat("525.1", "535.261.03", std::nullopt));
}

TEST(CudaCompat, TwoLibrariesAreNone) {
    const tests::TempDir dir;
    const auto root = ContainerRoot::open(dir.path());
    dir.write("usr/local/cuda/compat/libcuda.so.570.1", "x");
    dir.write("usr/local/cuda/compat/libcuda.so.1", "x");
    ASSERT_TRUE(enable_cuda_compat(*root, "535.1"));
    EXPECT_EQ(dir.read("etc/ld.so.conf.d/00-compat-gpuhost.conf"), "/usr/local/cuda/compat\n");
    dir.write("usr/local/cuda/compat/libcuda.so.571.1", "x");
    ASSERT_TRUE(enable_cuda_compat(*root, "535.1"));
    EXPECT_FALSE(dir.root().exists("/etc/ld.so.conf.d/00-compat-gpuhost.conf"));
}

} // namespace
} // namespace gpuhost::runtime
