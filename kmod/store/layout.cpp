// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/layout.hpp"

#include "daemon/base/parse.hpp"

#include <vector>

namespace gpuhost::kmod {

using content::ArchiveEntry;

namespace {

/// Returns the components of a path, without a leading usr/: some packages have /lib, others /usr/lib.
std::vector<std::string> components(std::string_view path) {
    if (base::starts_with(path, "usr/"))
        path.remove_prefix(4);
    return base::split(path, '/');
}

bool is_library(std::string_view name) {
    return base::starts_with(name, "lib") && (base::ends_with(name, ".so") || name.find(".so.") != name.npos);
}

bool is_triplet(std::string_view name) {
#if defined(__aarch64__)
    return name == "aarch64-linux-gnu";
#else
    return name == "x86_64-linux-gnu";
#endif
}

} // namespace

std::optional<Placement> place_in_userland(const ArchiveEntry& entry) {
    const auto parts = components(entry.path);
    const std::string& name = parts.back();
    const std::size_t n = parts.size();
    const bool plain = entry.type == ArchiveEntry::Type::File || entry.type == ArchiveEntry::Type::HardLink;
    const auto at = [&](std::size_t i, std::string_view text) { return i < n && parts[i] == text; };

    const bool library_directory =
        (n == 2 && at(0, "lib64")) || (at(0, "lib") && n >= 2 && is_triplet(parts[1]) &&
                                       (n == 3 || (n == 5 && at(2, "nvidia") && at(3, "current"))));
    if (library_directory && is_library(name) && entry.type != ArchiveEntry::Type::Directory)
        return Placement{"lib/" + name, false};
    if (!plain)
        return std::nullopt;
    const bool program_directory = (n == 2 && (at(0, "bin") || at(0, "sbin"))) ||
                                   (n == 4 && at(0, "lib") && at(1, "nvidia") && at(2, "current"));
    if (program_directory && (entry.mode & 0111U) != 0)
        return Placement{"bin/" + name, true};
    if (n == 5 && at(0, "lib") && at(1, "firmware") && at(2, "nvidia") && base::ends_with(name, ".bin"))
        return Placement{"firmware/" + name, false};
    if (n == 4 && at(0, "share") && at(1, "doc") && name == "copyright")
        return Placement{"doc/" + parts[2] + "/copyright", false};
    if (n == 4 && at(0, "share") && at(1, "licenses") && name == "LICENSE")
        return Placement{"doc/" + parts[2] + "/LICENSE", false};
    return std::nullopt;
}

std::optional<ModulePlace> module_place(const ArchiveEntry& entry) {
    const auto parts = components(entry.path);
    if (parts.size() < 4 || parts[0] != "lib" || parts[1] != "modules" ||
        !base::is_kernel_release(parts[2]) || !base::starts_with(parts.back(), "nvidia") ||
        !base::is_module_file(parts.back()) || entry.type == ArchiveEntry::Type::Directory)
        return std::nullopt;
    return ModulePlace{parts[2], parts.back()};
}

std::optional<std::string> version_in_path(std::string_view path) {
    const auto parts = components(path);
    if (parts.size() == 5 && parts[1] == "firmware" && base::is_driver_version(parts[3]))
        return parts[3];
    const std::string& name = parts.back();
    // Driver versions begin with three digits or more. Some libraries have a version of their own with a
    // smaller first number ("libnvidia-egl-wayland.so.1.1.10").
    const auto suffix = name.find(".so.");
    if (suffix == std::string::npos)
        return std::nullopt;
    const std::string version = name.substr(suffix + 4);
    const bool is_driver = base::is_driver_version(version) && version.find('.') >= 3;
    return is_driver ? std::optional(version) : std::nullopt;
}

std::optional<std::string> source_directory(const ArchiveEntry& entry) {
    const auto parts = base::split(entry.path, '/');
    if (entry.type != ArchiveEntry::Type::File || parts.size() != 4 || parts[0] != "usr" ||
        parts[1] != "src" || !base::starts_with(parts[2], "nvidia") ||
        (parts[3] != "dkms.conf" && parts[3] != "Kbuild"))
        return std::nullopt;
    return "usr/src/" + parts[2];
}

} // namespace gpuhost::kmod
