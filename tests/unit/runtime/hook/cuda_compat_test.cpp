// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/cuda_compat.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
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

/// Returns an ELF file with one note section, as in libcuda's compat packages.
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

const std::string json = R"({"format":1,"CUDA Version":"12.8","driver":[535,550,560],"device":[1]})";

TEST(CudaCompat, ReadsTheBranchesOfTheNote) {
    EXPECT_EQ(branches_of(library(json)), (Branches{535, 550, 560}));
    EXPECT_EQ(branches_of(library(json + '\0')), (Branches{535, 550, 560}));
    EXPECT_EQ(branches_of(library(R"({"driver":[535,"550"]})")), Branches{535});
    EXPECT_EQ(branches_of(library(R"({"Driver":[535]})")), Branches{535})
        << "NVIDIA's hook is case-insensitive";
}

/// The descriptions in NVIDIA's libraries, with the padding of their sections.
const std::string note_of_575 =
    std::string(R"({"format":1,"CUDA Version":"12.9","driver":[535,550,560,565,570,575],)") +
    R"("device":[1,2,7,8,9,10,11,12,13,14]})" + std::string(1, '\0');
const std::string note_of_590 =
    std::string(R"({"format":1,"CUDA Version":"13.1","driver":[535,550,570,575,580,590],)") +
    R"("device":[1,2,7,8,9,10,11,12,13,14]})" + std::string(1, '\0');
const std::string note_of_orin = std::string(R"({"format":1,"CUDA Version":"13.2"})") + std::string(2, '\0');

struct Choice {
    const char* compat;
    const std::string& note;
    const char* host;
    bool expected;
    friend void PrintTo(const Choice& one, std::ostream* out) { *out << one.compat << " on " << one.host; }
};

class CompatNotes : public ::testing::TestWithParam<Choice> {};

TEST_P(CompatNotes, ChooseLikeNvidiasHook) {
    const Choice& one = GetParam();
    EXPECT_EQ(prefers_compat(one.compat, one.host, branches_of(library(one.note))), one.expected);
}

INSTANTIATE_TEST_SUITE_P(CudaCompat, CompatNotes,
                         ::testing::Values(Choice{"575.57.08", note_of_575, "525.147.05", false},
                                           Choice{"575.57.08", note_of_575, "535.261.03", true},
                                           Choice{"575.57.08", note_of_575, "545.23.08", false},
                                           Choice{"575.57.08", note_of_575, "555.42.06", false},
                                           Choice{"575.57.08", note_of_575, "565.57.01", true},
                                           Choice{"575.57.08", note_of_575, "575.10.10", true},
                                           Choice{"575.57.08", note_of_575, "575.57.08", false},
                                           Choice{"575.57.08", note_of_575, "580.65.06", false},
                                           Choice{"590.44.01", note_of_590, "565.57.01", false},
                                           Choice{"590.44.01", note_of_590, "580.65.06", true},
                                           Choice{"590.44.01", note_of_590, "590.48.01", false},
                                           Choice{"600.1", note_of_orin, "590.48.01", false}),
                         [](const auto& tested) {
                             std::string name = std::string(tested.param.compat) + "_on_" + tested.param.host;
                             std::replace(name.begin(), name.end(), '.', '_');
                             return name;
                         });

TEST(CudaCompat, NoteWithoutBranchesNamesNone) {
    EXPECT_EQ(branches_of(library(note_of_orin)), Branches{});
}

TEST(CudaCompat, OtherAndInvalidNotesAreIgnored) {
    EXPECT_EQ(branches_of(library(json, std::string("GNU\0", 4))), std::nullopt);
    EXPECT_EQ(branches_of(library(json, std::string("NVIDIA Corporation\0", 19), ".note.other")),
              std::nullopt);
    EXPECT_EQ(branches_of(library("{")), std::nullopt);
    EXPECT_EQ(branches_of(library(R"({"driver":535})")), std::nullopt);
    EXPECT_EQ(branches_of(library("")), std::nullopt);
    EXPECT_EQ(branches_of("no ELF"), std::nullopt);
    EXPECT_EQ(branches_of(""), std::nullopt);
}

TEST(CudaCompat, DamagedLibraryHasNoBranches) {
    const std::string whole = library(json);
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(branches_of(whole.substr(0, size)), std::nullopt) << size;
    for (std::size_t at = 0; at < whole.size() - json.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = '\xff';
        (void)branches_of(damaged);
    }
}

TEST(CudaCompat, PreferredIfNewerAndBuiltForTheHost) {
    EXPECT_TRUE(prefers_compat("570.86.10", "535.261.03", Branches{535, 550}));
    EXPECT_FALSE(prefers_compat("570.86.10", "545.23.08", Branches{535, 550})) << "not built for this branch";
    EXPECT_FALSE(prefers_compat("535.54.03", "535.261.03", Branches{535})) << "older";
    EXPECT_FALSE(prefers_compat("535.261.03", "535.261.03", Branches{535})) << "the same";
    EXPECT_TRUE(prefers_compat("535.261.04", "535.261.03", Branches{535}));
}

TEST(CudaCompat, WithoutNoteMajorVersionsDecide) {
    EXPECT_TRUE(prefers_compat("550.1", "99.261.03", std::nullopt)) << "compared as numbers";
    EXPECT_FALSE(prefers_compat("535.300.1", "535.261.03", std::nullopt));
    EXPECT_FALSE(prefers_compat("525.1", "535.261.03", std::nullopt));
}

TEST(CudaCompat, TwoCompatLibrariesAreIgnored) {
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
