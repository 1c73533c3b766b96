// SPDX-License-Identifier: Apache-2.0
#include "tests/support/elf_images.hpp"

#include <cstdint>
#include <cstring>

#include <elf.h>

namespace gpuhost::tests {

namespace {

template <class T>
void append(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Image {
  public:
    explicit Image(std::uint16_t type) : type_(type) { add("", SHT_NULL, {}); }

    void add(const std::string& name, std::uint32_t type, const std::string& content,
             std::uint32_t link = 0) {
        Elf64_Shdr header{};
        header.sh_name = static_cast<std::uint32_t>(names_.size());
        header.sh_type = type;
        header.sh_offset = sizeof(Elf64_Ehdr) + body_.size();
        header.sh_size = content.size();
        header.sh_link = link;
        names_ += name + '\0';
        body_ += content;
        headers_.push_back(header);
    }

    std::string finish() {
        add(".shstrtab", SHT_STRTAB, {});
        headers_.back().sh_offset = sizeof(Elf64_Ehdr) + body_.size();
        headers_.back().sh_size = names_.size();
        body_ += names_;
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = type_;
#if defined(__aarch64__)
        header.e_machine = EM_AARCH64;
#else
        header.e_machine = EM_X86_64;
#endif
        header.e_version = EV_CURRENT;
        header.e_ehsize = sizeof(Elf64_Ehdr);
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shoff = sizeof(Elf64_Ehdr) + body_.size();
        header.e_shnum = static_cast<std::uint16_t>(headers_.size());
        header.e_shstrndx = static_cast<std::uint16_t>(headers_.size() - 1);
        std::string out;
        append(out, header);
        out += body_;
        for (const Elf64_Shdr& section : headers_)
            append(out, section);
        return out;
    }

  private:
    std::uint16_t type_;
    std::string names_;
    std::string body_;
    std::vector<Elf64_Shdr> headers_;
};

} // namespace

std::string module_image(const std::vector<std::pair<std::string, std::string>>& modinfo,
                         const std::vector<std::pair<std::string, unsigned>>& versions) {
    std::string info;
    for (const auto& [key, value] : modinfo)
        info += key + '=' + value + '\0';
    Image image(ET_REL);
    image.add(".modinfo", SHT_PROGBITS, info);
    std::string table;
    for (const auto& [symbol, crc] : versions) {
        append(table, std::uint64_t{crc});
        std::string name = symbol;
        name.resize(56, '\0');
        table += name;
    }
    if (!versions.empty())
        image.add("__versions", SHT_PROGBITS, table);
    return image.finish();
}

std::string nvidia_module(const std::string& name, const std::string& version, const std::string& kernel,
                          const std::string& depends) {
    return module_image({{"license", "Dual MIT/GPL"},
                         {"version", version},
                         {"srcversion", "0123456789ABCDEF0123456"},
                         {"depends", depends},
                         {"name", name},
                         {"vermagic", kernel + " SMP preempt mod_unload modversions "}});
}

std::string library_image(const std::string& soname) {
    Image image(ET_DYN);
    image.add(".dynstr", SHT_STRTAB, std::string("\0", 1) + soname + '\0');
    std::string dynamic;
    append(dynamic, Elf64_Dyn{DT_SONAME, {1}});
    append(dynamic, Elf64_Dyn{DT_NULL, {0}});
    image.add(".dynamic", SHT_DYNAMIC, dynamic, 1);
    return image.finish();
}

std::string with_signature(std::string image, const std::string& der) {
    image += der;
    image += std::string("\0\0\2\0\0\0\0\0", 8);
    for (int shift = 24; shift >= 0; shift -= 8)
        image += static_cast<char>(der.size() >> static_cast<unsigned>(shift));
    return image + "~Module signature appended~\n";
}

} // namespace gpuhost::tests
