// SPDX-License-Identifier: Apache-2.0
// Tests which programs are accepted; tests/host/hook_test.py runs ldconfig.
#include "daemon/runtime/hook/ldconfig.hpp"
#include "tests/support/tmpdir.hpp"

#include <cstring>

#include <elf.h>
#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;

std::string program_with(const std::vector<Elf64_Word>& segments) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    for (const Elf64_Word type : segments) {
        Elf64_Phdr segment{};
        segment.p_type = type;
        file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
    }
    return file;
}

TEST(HookLdconfig, OnlyStaticProgramsAreAccepted) {
    EXPECT_TRUE(is_static_program(program_with({PT_LOAD, PT_DYNAMIC, PT_LOAD})));
    EXPECT_FALSE(is_static_program(program_with({PT_LOAD, PT_LOAD, PT_INTERP})));
    EXPECT_FALSE(is_static_program(program_with({})));
    EXPECT_FALSE(is_static_program("#!/bin/sh\n" + std::string(100, ' ')));
    EXPECT_FALSE(is_static_program(""));
}

TEST(HookLdconfig, HeaderThatExceedsTheFileIsRefused) {
    std::string file = program_with({PT_LOAD, PT_LOAD});
    EXPECT_FALSE(is_static_program(std::string_view(file).substr(0, file.size() - 1)));
    Elf64_Ehdr header{};
    std::memcpy(&header, file.data(), sizeof header);
    header.e_phoff = ~Elf64_Off{0};
    std::memcpy(file.data(), &header, sizeof header);
    EXPECT_FALSE(is_static_program(file));
}

TEST(HookLdconfig, MissingProgramIsNotFound) {
    const tests::TempDir dir;
    const auto done = run_ldconfig(*ContainerRoot::open(dir.path()), dir.path("none"));
    EXPECT_EQ(done.error().code, Errc::NotFound);
}

} // namespace
} // namespace gpuhost::runtime
