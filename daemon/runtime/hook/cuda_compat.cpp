// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/cuda_compat.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/runtime/hook/search_path.hpp"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <strings.h>
#include <unistd.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::string_view compat_folder = "/usr/local/cuda/compat";
constexpr std::string_view library_prefix = "libcuda.so.";
constexpr std::string_view note_section = ".note.cuda.fwd_compatibility";
constexpr std::string_view note_name = "NVIDIA Corporation";
constexpr std::size_t max_sections = 1024;
constexpr std::size_t max_names = 1U << 20;
constexpr std::size_t max_note = 1U << 16;

/// Reads a part of a file. A file that shrinks meanwhile ends the read early, but would raise a signal if it
/// were mapped.
std::optional<std::string> read_at(int fd, std::uint64_t offset, std::uint64_t size, std::size_t limit) {
    std::string bytes(std::min<std::uint64_t>(size, limit), '\0');
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (size > limit || n < 0 || static_cast<std::uint64_t>(n) != size)
        return std::nullopt;
    return bytes;
}

template <class T>
std::optional<T> value_at(std::string_view bytes, std::size_t offset) {
    T value{};
    if (offset > bytes.size() || bytes.size() - offset < sizeof value)
        return std::nullopt;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::optional<std::string> find_section(int fd, std::string_view wanted) {
    const auto start = read_at(fd, 0, sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr));
    const auto header = start ? value_at<Elf64_Ehdr>(*start, 0) : std::nullopt;
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
        return std::nullopt;
    const auto table =
        read_at(fd, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr), max_sections * sizeof(Elf64_Shdr));
    const auto strings =
        table ? value_at<Elf64_Shdr>(*table, header->e_shstrndx * sizeof(Elf64_Shdr)) : std::nullopt;
    const auto names = strings ? read_at(fd, strings->sh_offset, strings->sh_size, max_names) : std::nullopt;
    for (std::size_t i = 0; names && i < header->e_shnum; ++i) {
        const auto section = value_at<Elf64_Shdr>(*table, i * sizeof(Elf64_Shdr));
        const std::string terminated = std::string(wanted) + '\0';
        if (section->sh_type == SHT_NOTE && section->sh_name < names->size() &&
            names->compare(section->sh_name, terminated.size(), terminated) == 0)
            return read_at(fd, section->sh_offset, section->sh_size, max_note);
    }
    return std::nullopt;
}

/// Returns the description in a section with a single note, if the note is NVIDIA's; else an empty text.
std::string_view description(std::string_view note) {
    const auto header = value_at<Elf64_Nhdr>(note, 0);
    if (!header)
        return {};
    const auto aligned = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
    const std::size_t begin = sizeof(Elf64_Nhdr) + aligned(header->n_namesz);
    std::string_view name = note.substr(sizeof(Elf64_Nhdr), header->n_namesz);
    name = name.substr(0, name.find('\0'));
    return name == note_name && begin < note.size() ? note.substr(begin, header->n_descsz)
                                                    : std::string_view();
}

std::vector<std::uint64_t> numbers(std::string_view version) {
    std::vector<std::uint64_t> parts;
    for (const std::string& part : base::split(version, '.'))
        parts.push_back(base::parse_uint(part).value_or(0));
    return parts;
}

/// Finds a key regardless of case, as NVIDIA's hook does. Returns nullptr if there is none.
const base::Json* find_key(const base::Json& object, const char* wanted) {
    for (const auto& [key, value] : object.items())
        if (::strcasecmp(key.c_str(), wanted) == 0)
            return &value;
    return nullptr;
}

/// Returns the version of the only libcuda in compat_folder; empty if there are several or none.
std::string compat_version(const ContainerRoot& root) {
    std::vector<std::string> versions;
    for (const std::string& name : root.list(compat_folder).value_or(std::vector<std::string>()))
        if (base::starts_with(name, library_prefix) &&
            base::is_driver_version(name.substr(library_prefix.size())))
            versions.push_back(name.substr(library_prefix.size()));
    return versions.size() == 1 ? versions.front() : "";
}

bool prefers_images_own(const ContainerRoot& root, const std::string& host_version) {
    const std::string version = compat_version(root);
    if (version.empty())
        return false;
    const auto library =
        root.open_file(std::string(compat_folder) + "/" + std::string(library_prefix) + version);
    return library && prefers_compat(version, host_version, compat_branches(library->get()));
}

} // namespace

std::optional<std::vector<std::int64_t>> compat_branches(int fd) {
    const auto note = find_section(fd, note_section);
    std::string_view text = note ? description(*note) : std::string_view();
    text = text.substr(0, text.find('\0'));
    const auto document = base::parse_json(text, note_section);
    if (!document || !document->is_object())
        return std::nullopt;
    std::vector<std::int64_t> branches;
    const base::Json* const found = find_key(*document, "driver");
    if (found == nullptr)
        return branches;
    const base::Json& listed = *found;
    if (!listed.is_array())
        return std::nullopt;
    for (const base::Json& branch : listed)
        if (branch.is_number_integer())
            branches.push_back(branch.get<std::int64_t>());
    return branches;
}

bool prefers_compat(std::string_view version, std::string_view host_version,
                    const std::optional<std::vector<std::int64_t>>& branches) {
    const auto own = numbers(version);
    const auto hosts = numbers(host_version);
    if (!branches)
        return own.front() > hosts.front();
    const auto branch = static_cast<std::int64_t>(hosts.front());
    return std::find(branches->begin(), branches->end(), branch) != branches->end() && own > hosts;
}

Result<void> enable_cuda_compat(const ContainerRoot& root, const std::string& host_version) {
    if (!base::is_driver_version(host_version))
        return fail(Errc::InvalidArgument, "'" + host_version + "' is not a driver version");
    if (prefers_images_own(root, host_version))
        return root.write(compat_conf, std::string(compat_folder) + "\n");
    return root.exists(compat_conf) ? root.remove(compat_conf) : Result<void>();
}

} // namespace gpuhost::runtime
