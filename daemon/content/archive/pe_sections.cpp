// SPDX-License-Identifier: Apache-2.0
#include "daemon/content/archive/pe_sections.hpp"

#include "daemon/base/root.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <sys/stat.h>

namespace gpuhost::content {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t dos_header = 64;
constexpr std::size_t header_at = 0x3c; // offset at which the DOS header stores the PE header's offset
constexpr std::size_t pe_header = 24;   // "PE", two zeros, and the COFF header
constexpr std::size_t count_at = 6;
constexpr std::size_t optional_size_at = 20;
constexpr std::size_t row_size = 40;
constexpr std::size_t name_size = 8;
enum Field : std::size_t { MemorySize = 8, FileSize = 16, FileOffset = 20 };

/// Reads a little-endian number. The caller has checked the size of `bytes`.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
        value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// Converts a row of the table. If the section's size in the file is larger than its size in memory, the rest
/// is padding. If it is smaller, the loader fills the memory with zeros.
PeSection section_of(std::string_view row) {
    const std::string_view name = row.substr(0, name_size);
    const std::uint64_t memory = number(row, MemorySize, 4);
    const std::uint64_t file = number(row, FileSize, 4);
    return {std::string(name.substr(0, name.find('\0'))), number(row, FileOffset, 4),
            memory == 0 ? file : std::min(memory, file)};
}

bool overlap(std::vector<PeSection> sections) {
    std::sort(sections.begin(), sections.end(),
              [](const PeSection& a, const PeSection& b) { return a.offset < b.offset; });
    return std::adjacent_find(sections.begin(), sections.end(), [](const PeSection& a, const PeSection& b) {
               return a.offset + a.size > b.offset;
           }) != sections.end();
}

} // namespace

Result<std::vector<PeSection>> read_pe_sections(int fd, const std::string& what) {
    const auto bad = [&](const char* reason) { return base::fail(Errc::BadContent, what + ": " + reason); };
    struct stat st {};
    if (::fstat(fd, &st) < 0)
        return base::fail_errno(what, errno);
    if (!S_ISREG(st.st_mode))
        return bad("is not a regular file");
    GPUHOST_TRY(dos, base::read_at(fd, 0, dos_header, what));
    if (dos.size() < dos_header || dos.substr(0, 2) != "MZ")
        return bad("is not a UEFI program");
    const std::uint64_t header_offset = number(dos, header_at, 4);
    GPUHOST_TRY(header, base::read_at(fd, header_offset, pe_header, what));
    if (header.size() < pe_header || header.substr(0, 4) != std::string_view("PE\0\0", 4))
        return bad("is not a UEFI program");
    const std::size_t count = number(header, count_at, 2);
    if (count > most_pe_sections)
        return bad("has too many sections");
    const std::uint64_t table_offset = header_offset + pe_header + number(header, optional_size_at, 2);
    GPUHOST_TRY(table, base::read_at(fd, table_offset, count * row_size, what));
    if (table.size() < count * row_size)
        return bad("ends inside its section table");
    std::vector<PeSection> sections;
    for (std::size_t at = 0; at < table.size(); at += row_size) {
        PeSection section = section_of(std::string_view(table).substr(at, row_size));
        if (section.size == 0)
            continue;
        if (section.offset + section.size > static_cast<std::uint64_t>(st.st_size))
            return bad("ends inside a section");
        sections.push_back(std::move(section));
    }
    if (overlap(sections))
        return bad("has overlapping sections");
    return sections;
}

} // namespace gpuhost::content
