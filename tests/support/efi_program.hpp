// SPDX-License-Identifier: Apache-2.0
// Builds UEFI programs in memory with the layout of objcopy(1) and ukify(1), for tests to corrupt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::tests {

struct EfiSection {
    std::string name;
    std::string content;
};

inline constexpr std::size_t efi_table = 0x80 + 24 + 240; ///< offset of the section table
inline constexpr std::size_t efi_row = 40;
enum EfiField : std::size_t { EfiMemorySize = 8, EfiFileSize = 16, EfiFileOffset = 20 };

inline void put_number(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
        bytes[at + i] = static_cast<char>(value >> 8U * i & 0xffU);
}

/// Pads each section to a multiple of 512 bytes. The section's size in memory excludes the padding.
[[nodiscard]] inline std::string efi_program(const std::vector<EfiSection>& sections) {
    constexpr std::size_t alignment = 512;
    const auto aligned = [](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
    std::string program(aligned(efi_table + efi_row * sections.size()), '\0');
    program.replace(0, 2, "MZ");
    put_number(program, 0x3c, 0x80, 4);
    program.replace(0x80, 2, "PE");
    put_number(program, 0x84, 0x8664, 2);
    put_number(program, 0x86, sections.size(), 2);
    put_number(program, 0x94, 240, 2);
    std::size_t row = efi_table;
    for (const EfiSection& section : sections) {
        program.replace(row, section.name.size(), section.name);
        put_number(program, row + EfiMemorySize, section.content.size(), 4);
        put_number(program, row + EfiFileSize, aligned(section.content.size()), 4);
        put_number(program, row + EfiFileOffset, program.size(), 4);
        program += section.content;
        program.resize(aligned(program.size()), '\0');
        row += efi_row;
    }
    return program;
}

} // namespace gpuhost::tests
