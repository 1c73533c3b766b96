// SPDX-License-Identifier: Apache-2.0
#include "kmod/module/symbol_versions.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/archive/archive.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

constexpr std::size_t symvers_limit = 32U << 20;

std::optional<std::string> unpack(const base::Root& root, const std::string& path) {
    const auto fd = root.open_file(path, O_RDONLY);
    if (!fd)
        return std::nullopt;
    auto reader = content::ArchiveReader::open(fd->get(), content::ArchiveFormat::Raw, path);
    if (!reader)
        return std::nullopt;
    const auto member = reader->next();
    if (!member || !*member)
        return std::nullopt;
    auto text = reader->read_all(symvers_limit);
    if (!text)
        return std::nullopt;
    return std::move(*text);
}

} // namespace

SymbolVersions parse_symvers(std::string_view text) {
    SymbolVersions versions;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto tab = line.find('\t');
        if (tab == std::string_view::npos || !base::starts_with(line, "0x"))
            continue;
        const auto crc = base::parse_uint(line.substr(2, tab - 2), 16);
        const std::string_view rest = line.substr(tab + 1);
        if (crc)
            versions.emplace(rest.substr(0, rest.find('\t')), static_cast<std::uint32_t>(*crc));
    }
    return versions;
}

std::optional<SymbolVersions> kernel_symbol_versions(const base::Root& root, std::string_view kernel) {
    const std::string release(kernel);
    if (const auto text = root.read("/lib/modules/" + release + "/build/Module.symvers", symvers_limit))
        return parse_symvers(*text);
    for (const std::string_view suffix : {".gz", ".xz"})
        if (const auto text = unpack(root, "/boot/symvers-" + release + std::string(suffix)))
            return parse_symvers(*text);
    return std::nullopt;
}

std::vector<std::string> differing_symbols(const SymbolVersions& kernel,
                                           const std::map<std::string, std::uint32_t>& wanted) {
    std::vector<std::string> differing;
    for (const auto& [name, crc] : wanted)
        if (const auto found = kernel.find(name); found != kernel.end() && found->second != crc)
            differing.push_back(name);
    return differing;
}

} // namespace gpuhost::kmod
