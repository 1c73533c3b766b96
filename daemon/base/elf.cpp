// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/elf.hpp"

#include <algorithm>
#include <cstring>

#include <elf.h>

namespace gpuhost::base {

namespace {

#if defined(__x86_64__)
constexpr std::uint16_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t this_machine = EM_AARCH64;
#else
#error "NVIDIA's open kernel modules exist for x86-64 and arm64 only"
#endif

/// Returns a copy of the T at `offset`, which may be unaligned; nullopt if it is not completely inside.
template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes.size() || bytes.size() - offset < size)
        return std::nullopt;
    return bytes.substr(offset, size);
}

/// Returns the NUL-terminated string at `offset` of a string table.
std::optional<std::string_view> string_at(std::string_view table, std::uint64_t offset) {
    if (offset >= table.size())
        return std::nullopt;
    const std::string_view rest = table.substr(offset);
    const auto end = rest.find('\0');
    if (end == std::string_view::npos)
        return std::nullopt;
    return rest.substr(0, end);
}

} // namespace

Result<Elf> Elf::parse(std::string_view image, std::string_view what) {
    const auto bad = [what](std::string_view reason) {
        return fail(Errc::BadContent, std::string(what) + ": " + std::string(reason),
                    "Fetch the file again: it is damaged, or its name does not match its type.");
    };
    const auto header = at<Elf64_Ehdr>(image, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return bad("not an ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != this_machine)
        return bad("is for another machine architecture");
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 ||
        header->e_shstrndx >= header->e_shnum)
        return bad("has no usable section table");

    std::vector<Elf64_Shdr> raw;
    raw.reserve(header->e_shnum);
    Elf elf;
    elf.type_ = header->e_type;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        if (header->e_shoff > image.size())
            return bad("is truncated");
        const auto section = at<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr));
        if (!section)
            return bad("is truncated");
        const auto content = section->sh_type == SHT_NOBITS
                                 ? std::string_view{}
                                 : slice(image, section->sh_offset, section->sh_size);
        if (!content)
            return bad("is truncated");
        raw.push_back(*section);
        elf.sections_.push_back({{}, section->sh_type, section->sh_link, *content});
    }
    const std::string_view names = elf.sections_[header->e_shstrndx].content;
    for (std::size_t i = 0; i < raw.size(); ++i)
        elf.sections_[i].name = string_at(names, raw[i].sh_name).value_or(std::string_view{});
    return elf;
}

const ElfSection* Elf::section(std::string_view name) const {
    const auto found =
        std::find_if(sections_.begin(), sections_.end(), [name](const auto& s) { return s.name == name; });
    return found == sections_.end() ? nullptr : &*found;
}

std::optional<std::string> Elf::soname() const {
    const auto dynamic =
        std::find_if(sections_.begin(), sections_.end(), [](const auto& s) { return s.type == SHT_DYNAMIC; });
    if (dynamic == sections_.end() || dynamic->link >= sections_.size())
        return std::nullopt;
    for (std::uint64_t i = 0;; ++i) {
        const auto entry = at<Elf64_Dyn>(dynamic->content, i * sizeof(Elf64_Dyn));
        if (!entry || entry->d_tag == DT_NULL)
            return std::nullopt;
        if (entry->d_tag == DT_SONAME) {
            const auto name = string_at(sections_[dynamic->link].content, entry->d_un.d_val);
            return name ? std::optional<std::string>(*name) : std::nullopt;
        }
    }
}

} // namespace gpuhost::base
