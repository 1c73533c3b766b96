// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/initramfs_images.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/archive/unified_image.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

namespace gpuhost::kmod {

using base::Root;

namespace {

bool is_file(const Root& root, const std::string& path) {
    const auto st = root.stat(path);
    return st && S_ISREG(st->st_mode);
}

/// Returns a value of os-release(5). `key` ends with "=". The file has shell syntax, but this function only
/// removes quotes: the values that it reads contain no other syntax.
std::string os_release_value(const Root& root, std::string_view key) {
    auto text = root.read("/etc/os-release");
    if (!text)
        text = root.read("/usr/lib/os-release");
    std::string value;
    for (const std::string& line : base::split(text.value_or(""), '\n'))
        if (base::starts_with(line, key))
            value = line.substr(key.size());
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    return value;
}

bool is_name(const std::string& token) {
    return !token.empty() && token.front() != '.' && token.find('/') == std::string::npos;
}

/// Returns the entry tokens: the names that kernel-install gives to this system's directories below $BOOT.
/// These are the configured token, or all tokens that kernel-install uses by default.
std::vector<std::string> tokens_of(const Root& root) {
    if (const std::string set = root.read_line("/etc/kernel/entry-token").value_or(""); is_name(set))
        return {set};
    std::vector<std::string> tokens;
    for (std::string token :
         {root.read_line("/etc/machine-id").value_or(""), os_release_value(root, "IMAGE_ID="),
          os_release_value(root, "ID="), std::string("Default")})
        if (is_name(token) && std::find(tokens.begin(), tokens.end(), token) == tokens.end())
            tokens.push_back(std::move(token));
    return tokens;
}

/// Returns whether a file is a temporary file or a backup, by the end of its name.
bool is_beside(std::string_view name) {
    constexpr std::array<std::string_view, 5> endings{unfinished_image, ".new", ".old", ".bak", "~"};
    return std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return base::ends_with(name, ending); });
}

void add_entries(const Root& root, const std::string& directory, std::vector<BootImage>& images) {
    for (const std::string& name : root.list(directory).value_or(std::vector<std::string>())) {
        const std::string path = directory + "/" + name;
        if ((base::starts_with(name, "initrd") || base::starts_with(name, "initramfs")) && !is_beside(name) &&
            is_file(root, path))
            images.push_back({BootImage::Kind::Entry, path});
    }
}

/// Returns whether the directory is an autofs mount point that is not mounted yet. Opens the directory with
/// O_PATH: this does not mount the directory itself, but mounts file systems above it.
bool is_mounted_on_demand(const Root& root, const std::string& directory) {
    struct statfs fs {};
    const auto fd = root.open_file(directory, O_PATH);
    return fd && ::fstatfs(fd->get(), &fs) == 0 && fs.f_type == AUTOFS_SUPER_MAGIC;
}

/// Reports whether the directory, or the first directory of its path, is an autofs mount point that is not
/// mounted yet.
bool is_below_on_demand(const Root& root, const std::string& directory) {
    return is_mounted_on_demand(root, directory.substr(0, directory.find('/', 1))) ||
           is_mounted_on_demand(root, directory);
}

/// Reports whether a file name is that of this kernel's unified image: "TOKEN-KERNEL.efi", or with boot
/// counting "TOKEN-KERNEL+3.efi" or "TOKEN-KERNEL+2-1.efi".
bool is_unified_of(std::string_view name, std::string_view kernel) {
    constexpr std::string_view ending = ".efi";
    if (!base::ends_with(name, ending))
        return false;
    const std::string_view stem = name.substr(0, name.size() - ending.size());
    const auto plus = stem.rfind('+');
    const bool counts = plus != std::string_view::npos &&
                        stem.find_first_not_of("0123456789-", plus + 1) == std::string_view::npos;
    const auto names_it = [&](std::string_view text) {
        return text == kernel ||
               (base::ends_with(text, kernel) && text[text.size() - kernel.size() - 1] == '-');
    };
    return names_it(stem) || (counts && names_it(stem.substr(0, plus)));
}

} // namespace

std::vector<std::string> boot_directories(const Root& root, OnDemand on_demand) {
    std::vector<std::string> directories;
    std::set<std::pair<dev_t, ino_t>> seen;
    for (const char* directory : {"/boot", "/efi", "/boot/efi"}) {
        if (on_demand == OnDemand::Mount)
            (void)root.open_file(directory, O_RDONLY | O_DIRECTORY);
        else if (is_below_on_demand(root, directory))
            continue;
        if (const auto st = root.stat(directory);
            st && S_ISDIR(st->st_mode) && seen.emplace(st->st_dev, st->st_ino).second)
            directories.emplace_back(directory);
    }
    return directories;
}

std::vector<BootImage> boot_images_of(const Root& root, const std::string& kernel, OnDemand on_demand) {
    std::vector<BootImage> images;
    if (on_demand == OnDemand::Mount || !is_mounted_on_demand(root, "/boot"))
        for (const std::string& path : {"/boot/initrd.img-" + kernel, "/boot/initramfs-" + kernel + ".img"})
            if (is_file(root, path))
                images.push_back({BootImage::Kind::Initramfs, path});
    const std::vector<std::string> tokens = tokens_of(root);
    for (const std::string& boot : boot_directories(root, on_demand)) {
        for (const std::string& token : tokens)
            add_entries(root, boot + "/" + token + "/" + kernel, images);
        const std::string unified = boot + "/EFI/Linux";
        for (const std::string& name : root.list(unified).value_or(std::vector<std::string>()))
            if (is_unified_of(name, kernel) && is_file(root, unified + "/" + name))
                images.push_back({BootImage::Kind::Unified, unified + "/" + name});
    }
    return images;
}

base::Result<std::vector<std::string>> gpu_modules_of(const BootImage& image, int fd,
                                                      const std::string& kernel) {
    if (image.kind == BootImage::Kind::Unified)
        return content::gpu_modules_of_unified_image(fd, kernel, image.path);
    return content::gpu_modules_of_initramfs({fd}, image.path);
}

std::string command_to_make(const Root& root, const BootImage& image, const std::string& kernel) {
    if (image.kind == BootImage::Kind::Initramfs)
        return root.exists("/usr/sbin/update-initramfs") ? "update-initramfs -u -k " + kernel
                                                         : "dracut --force " + image.path + " " + kernel;
    const std::string debian = "/boot/vmlinuz-" + kernel;
    return "kernel-install add " + kernel + " " +
           (root.exists(debian) ? debian : "/lib/modules/" + kernel + "/vmlinuz");
}

} // namespace gpuhost::kmod
