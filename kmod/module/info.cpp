// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/info.hpp"

#include "daemon/base/elf.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cstring>

#include <elf.h>

namespace gpuhost::kmod {

using base::Elf;
using base::ElfSection;
using base::Errc;
using base::Result;

namespace {

std::vector<std::string> split_depends(std::string_view value) {
    std::vector<std::string> names;
    for (std::string& name : base::split(value, ','))
        if (!name.empty())
            names.push_back(std::move(name));
    return names;
}

/// Returns a parameter's name with underscores, as the kernel compares names (parameq in kernel/params.c).
std::string parameter_name(std::string_view text) {
    std::string name(text);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

void set_field(ModuleInfo& info, std::string_view key, std::string_view value) {
    const std::pair<std::string_view, std::string*> fields[] = {{"name", &info.name},
                                                                {"version", &info.version},
                                                                {"srcversion", &info.srcversion},
                                                                {"vermagic", &info.vermagic},
                                                                {"license", &info.license}};
    for (const auto& [name, field] : fields)
        if (key == name)
            *field = value;
    if (key == "depends")
        info.depends = split_depends(value);
    else if (key == "firmware")
        info.firmware.emplace_back(value);
    else if (key == "parmtype") // "name:type"
        info.parameters.push_back(parameter_name(value.substr(0, value.find(':'))));
}

/// Parses .modinfo, a sequence of NUL-terminated "key=value" strings.
void read_modinfo(ModuleInfo& info, std::string_view section) {
    while (!section.empty()) {
        const auto end = section.find('\0');
        const std::string_view line = section.substr(0, end);
        section.remove_prefix(end == std::string_view::npos ? section.size() : end + 1);
        if (const auto equals = line.find('='); equals != std::string_view::npos)
            set_field(info, line.substr(0, equals), line.substr(equals + 1));
    }
}

Result<Elf> parse_module(std::string_view image, std::string_view what) {
    GPUHOST_TRY(elf, Elf::parse(image, what));
    if (elf.type() != ET_REL || elf.section(".modinfo") == nullptr)
        return base::fail(Errc::BadContent, std::string(what) + ": is an ELF file, but not a kernel module");
    return std::move(elf);
}

} // namespace

std::string_view ModuleInfo::kernel() const {
    return std::string_view(vermagic).substr(0, vermagic.find(' '));
}

std::string_view ModuleInfo::flavour() const {
    return license == "Dual MIT/GPL" ? "open" : "proprietary";
}

std::vector<std::string> ModuleInfo::unknown_parameters(std::string_view text) const {
    std::vector<std::string> unknown;
    for (const std::string& word : base::split_words(text)) {
        const std::string given = parameter_name(std::string_view(word).substr(0, word.find('=')));
        if (given != "dyndbg" && std::find(parameters.begin(), parameters.end(), given) == parameters.end())
            unknown.push_back(given);
    }
    return unknown;
}

Result<ModuleInfo> parse_module_info(std::string_view image, std::string_view what) {
    GPUHOST_TRY(elf, parse_module(image, what));
    ModuleInfo info;
    read_modinfo(info, elf.section(".modinfo")->content);
    if (info.name.empty() || info.vermagic.empty())
        return base::fail(Errc::BadContent, std::string(what) + ": its name or its kernel is missing");
    return info;
}

Result<std::map<std::string, std::uint32_t>> parse_symbol_versions(std::string_view image,
                                                                   std::string_view what) {
    GPUHOST_TRY(elf, parse_module(image, what));
    struct Version { // struct modversion_info of the kernel
        std::uint64_t crc;
        char name[56];
    };
    std::map<std::string, std::uint32_t> versions;
    const ElfSection* section = elf.section("__versions");
    if (section == nullptr)
        return versions;
    for (std::string_view rest = section->content; rest.size() >= sizeof(Version);
         rest.remove_prefix(sizeof(Version))) {
        Version version;
        std::memcpy(&version, rest.data(), sizeof version);
        versions.emplace(std::string(version.name, ::strnlen(version.name, sizeof version.name)),
                         static_cast<std::uint32_t>(version.crc));
    }
    return versions;
}

} // namespace gpuhost::kmod
