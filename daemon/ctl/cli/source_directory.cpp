// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/source_directory.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/content/archive/tree.hpp"
#include "daemon/ctl/cli/packed_files.hpp"

#include <array>
#include <optional>

#include <sys/stat.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr unsigned deepest = 16;

struct Place {
    std::string_view file;
    /// Text before the version. The version ends at the first character that is neither a digit nor '.'.
    std::string_view before;
};
constexpr std::array places{Place{"/dkms.conf", "PACKAGE_VERSION="}, Place{"/version.mk", "NVIDIA_VERSION ="},
                            Place{"/Kbuild", "NV_VERSION_STRING="}};

std::optional<std::string> version_after(std::string_view text, std::string_view before) {
    const auto at = text.find(before);
    if (at == std::string_view::npos)
        return std::nullopt;
    text = text.substr(at + before.size());
    text = text.substr(std::min(text.size(), text.find_first_not_of(" \t\"'\\")));
    std::string version(text.substr(0, text.find_first_not_of("0123456789.")));
    return base::is_driver_version(version) ? std::optional(std::move(version)) : std::nullopt;
}

Result<std::string> version_of(const Root& root) {
    for (const Place& place : places)
        if (const auto text = root.read(place.file))
            if (auto version = version_after(*text, place.before))
                return std::move(*version);
    return base::fail(Errc::BadContent,
                      "'" + root.directory() + "': version of the driver's source not found",
                      "Name a directory whose dkms.conf has PACKAGE_VERSION=, version.mk NVIDIA_VERSION, or "
                      "Kbuild NV_VERSION_STRING.");
}

/// Returns true for the open modules, which declare another license to the kernel than the proprietary ones.
bool is_open(const Root& root) {
    for (const std::string& name : root.list("/nvidia").value_or(std::vector<std::string>{}))
        if (base::ends_with(name, ".c"))
            if (const auto text = root.read("/nvidia/" + name, std::size_t{8} << 20U))
                if (text->find("MODULE_LICENSE(\"Dual MIT/GPL\")") != std::string::npos)
                    return true;
    return false;
}

class Packer {
  public:
    Packer(const Root& root, PackedFiles& packed, std::string prefix)
        : root_(root), packed_(packed), prefix_(std::move(prefix)) {}

    Result<void> add_directory(const std::string& path, unsigned depth) {
        if (depth > deepest)
            return base::fail(Errc::BadContent,
                              name_of(path) + " is nested too deeply for a driver's source");
        GPUHOST_TRY(names, root_.list(path.empty() ? "/" : path));
        for (const std::string& name : names) {
            const std::string inside = path + "/" + name;
            GPUHOST_TRY(st, root_.lstat(inside));
            if (S_ISDIR(st.st_mode))
                GPUHOST_CHECK(add_directory(inside, depth + 1));
            else
                GPUHOST_CHECK(add(inside, st));
        }
        return {};
    }

  private:
    [[nodiscard]] std::string name_of(const std::string& path) const {
        return "'" + root_.directory() + path + "'";
    }

    Result<void> add(const std::string& path, const struct stat& st) {
        if (base::ends_with(path, ".ko") || base::ends_with(path, ".o"))
            return base::fail(Errc::BadContent, name_of(path) + " is the result of a build",
                              "Run 'make clean' there first, or import a source without results of a build.");
        if (!S_ISLNK(st.st_mode))
            return packed_.add_file(root_, path, prefix_ + path);
        GPUHOST_TRY(target, root_.read_link(path));
        if (!content::link_stays_inside(path.substr(1), target))
            return base::fail(Errc::BadContent, name_of(path) + " is a link that leads out of the source");
        return packed_.add_link(prefix_ + path, target);
    }

    const Root& root_;
    PackedFiles& packed_;
    std::string prefix_;
};

} // namespace

bool is_source_directory(const std::string& directory) {
    const auto root = Root::open(directory);
    return root && (root->exists("/dkms.conf") || (root->exists("/Kbuild") && root->exists("/nvidia")));
}

Result<client::InputFile> pack_source_directory(const std::string& directory) {
    GPUHOST_TRY(root, Root::open(directory));
    GPUHOST_TRY(version, version_of(root));
    const std::string name = std::string(is_open(root) ? "nvidia-open-" : "nvidia-") + version;
    GPUHOST_TRY(packed, PackedFiles::create(name));
    GPUHOST_CHECK(Packer(root, packed, "usr/src/" + name).add_directory("", 0));
    return packed.finish();
}

} // namespace gpuhost::ctl
