// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/elf.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/deb.hpp"
#include "kmod/layout.hpp"
#include "kmod/stage.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <sys/stat.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using content::ArchiveEntry;
using content::Deb;
using content::deb_architecture;
using content::DebControl;
using content::SetWriter;

namespace {

struct Package {
    ImportFile file;
    DebControl control;
    std::uint64_t bytes = 0; ///< of the package itself
};

Result<std::vector<Package>> read_controls(const std::vector<ImportFile>& files) {
    std::vector<Package> packages;
    for (const ImportFile& file : files) {
        GPUHOST_TRY(deb, Deb::open(file.fd, file.name));
        struct stat st {};
        if (::fstat(file.fd, &st) < 0)
            return base::fail_errno(file.name, errno);
        packages.push_back({file, deb.control(), static_cast<std::uint64_t>(st.st_size)});
    }
    return packages;
}

/// One version, this machine. All that disagree are named.
Result<std::string> common_version(const std::vector<Package>& packages) {
    std::map<std::string, std::vector<std::string>> by_version;
    for (const Package& package : packages) {
        const DebControl& control = package.control;
        if (control.architecture != "all" && control.architecture != deb_architecture())
            return base::fail(Errc::BadContent, package.file.name + ": is for " + control.architecture +
                                                    ", this host is " + std::string(deb_architecture()));
        by_version[control.upstream].push_back(control.package);
    }
    std::vector<std::string> groups;
    groups.reserve(by_version.size());
    for (const auto& [version, names] : by_version)
        groups.push_back(version + " (" + base::join(names, ", ") + ")");
    if (groups.size() > 1)
        return base::fail(Errc::BadContent,
                          "the packages are of different versions: " + base::join(groups, "; "),
                          "Import one driver version at a time.");
    if (!base::is_driver_version(by_version.begin()->first))
        return base::fail(Errc::BadContent, packages.front().file.name + ": '" + by_version.begin()->first +
                                                "' is not a driver version");
    return by_version.begin()->first;
}

/// What all of it may take on disk: unpacked, or kept as it is, whichever comes.
std::uint64_t needed_space(const std::vector<Package>& packages) {
    std::uint64_t bytes = 0;
    for (const Package& package : packages)
        bytes += package.bytes + (package.control.installed_bytes != 0 ? package.control.installed_bytes
                                                                       : 10 * package.bytes);
    return bytes;
}

class Stager {
  public:
    Stager(const base::Root& staging, std::string version, std::uint64_t space, const OnProgress& progress,
           std::uint64_t expected)
        : staging_(staging), version_(std::move(version)), left_(space), progress_(progress),
          expected_(expected) {}

    Result<Imported> run(const std::vector<Package>& packages) {
        GPUHOST_TRY(userland, SetWriter::create(staging_, "/userland"));
        for (const Package& package : packages)
            GPUHOST_CHECK(take(package, userland));
        GPUHOST_CHECK(link_libraries(userland));
        GPUHOST_CHECK(finish_userland(userland));
        if (result_.places.empty())
            return base::fail(Errc::BadContent, "nothing of a driver is in these packages",
                              "A host needs nvidia-smi, libnvidia-ml1, libcuda1, firmware-nvidia-gsp and "
                              "nvidia-open-kernel-dkms.");
        result_.version = version_;
        return std::move(result_);
    }

  private:
    Result<void> take(const Package& package, SetWriter& userland) {
        const std::string& name = package.file.name;
        text_ = "unpacking " + package.control.package;
        GPUHOST_TRY(deb, Deb::open(package.file.fd, name));
        ImportedPackage counts{package.control.package, package.control.version, 0, 0};
        std::optional<std::string> source;
        for (;;) {
            GPUHOST_TRY(entry, deb.next());
            if (!entry)
                break;
            if (auto found = source_directory(*entry))
                source = std::move(found);
            if (auto placed = place_in_userland(*entry)) {
                GPUHOST_CHECK(keep(*entry, *placed, deb, userland, name));
                ++counts.kept;
            } else if (entry->type != ArchiveEntry::Type::Directory) {
                advance(entry->size); // it is unpacked all the same, only not written
                ++counts.ignored;
            }
        }
        if (source)
            GPUHOST_CHECK(seal_source(package, *source));
        result_.packages.push_back(std::move(counts));
        return {};
    }

    Result<void> keep(const ArchiveEntry& entry, const Placement& placed, Deb& deb, SetWriter& userland,
                      const std::string& name) {
        const std::string where = name + ": '" + entry.path + "'";
        if (const auto version = version_in_path(entry.path); version && *version != version_)
            return base::fail(Errc::BadContent,
                              where + " is of version " + *version + ", the package says " + version_,
                              "The package is not consistent; fetch it again.");
        if (entry.type == ArchiveEntry::Type::HardLink)
            return base::fail(Errc::Unsupported, where + " is a hard link");
        if (entry.type == ArchiveEntry::Type::SymbolicLink) {
            links_.emplace(placed.path, entry.target);
            return {};
        }
        GPUHOST_CHECK(take_space(entry.size, where)); // the archive's reader holds a member to its size
        GPUHOST_CHECK(userland.add(placed.path, placed.executable, deb.data(),
                                   [this](std::uint64_t n) { advance(n); }));
        if (base::starts_with(placed.path, "lib/"))
            return read_soname(userland, placed.path, where);
        return {};
    }

    Result<void> read_soname(const SetWriter& userland, const std::string& path, const std::string& where) {
        GPUHOST_TRY(fd, userland.open(path));
        GPUHOST_TRY(mapped, base::MappedFile::open(fd.get(), where));
        GPUHOST_TRY(elf, base::Elf::parse(mapped.view(), where));
        const auto soname = elf.soname();
        if (!soname)
            return {};
        if (soname->find('/') != std::string::npos || content::safe_relative_path(*soname) != *soname ||
            soname->empty())
            return base::fail(Errc::BadContent, where + ": its soname can't be a file name");
        if ("lib/" + *soname != path)
            sonames_.emplace("lib/" + *soname, path.substr(4));
        return {};
    }

    /// Programs look libraries up by soname. A package leaves these links to ldconfig or update-alternatives;
    /// here they come from the libraries themselves. The package's own links ("libcuda.so") stay where they
    /// lead to one of them.
    Result<void> link_libraries(SetWriter& userland) {
        for (const auto& [path, target] : sonames_)
            if (!userland.has(path))
                GPUHOST_CHECK(userland.add_link(path, target));
        for (const auto& [path, target] : links_)
            if (!userland.has(path) && target.find('/') == std::string::npos && userland.has("lib/" + target))
                GPUHOST_CHECK(userland.add_link(path, target));
        return {};
    }

    /// Copyright files alone are no userland.
    Result<void> finish_userland(SetWriter& userland) {
        const bool useful =
            std::any_of(userland.files().begin(), userland.files().end(),
                        [](const auto& file) { return !base::starts_with(file.path, "doc/"); });
        if (!useful)
            return staging_.remove_tree("/userland");
        Manifest manifest;
        manifest.kind = SetKind::Userland;
        manifest.version = version_;
        result_.places.push_back(set_place(manifest));
        return finish_set(userland, std::move(manifest));
    }

    /// The package stays as it came: 200 MB of source are unpacked when somebody builds.
    Result<void> seal_source(const Package& package, const std::string& directory) {
        Manifest manifest;
        manifest.kind = SetKind::Source;
        manifest.version = version_;
        const bool open = (directory + package.control.package).find("open") != std::string::npos;
        manifest.flavour = open ? "open" : "proprietary";
        manifest.directory = directory;
        const std::string file =
            package.control.package + "_" + version_ + "_" + std::string(deb_architecture()) + ".deb";
        if (staging_.exists("/source/" + manifest.flavour))
            return base::fail(Errc::BadContent, "two packages bring the " + manifest.flavour + " source",
                              "Leave one of them out.");
        GPUHOST_TRY(writer, SetWriter::create(staging_, "/source/" + manifest.flavour));
        GPUHOST_CHECK(take_space(package.bytes, package.file.name));
        const content::ArchiveLimits limits{1, package.bytes, package.bytes, 256};
        GPUHOST_TRY(raw, content::ArchiveReader::open(package.file.fd, content::ArchiveFormat::Raw,
                                                      package.file.name, limits));
        GPUHOST_TRY(entry, raw.next());
        if (!entry)
            return base::fail(Errc::BadContent, package.file.name + ": is empty");
        GPUHOST_CHECK(writer.add(file, false, raw, [this](std::uint64_t n) { advance(n); }));
        result_.places.push_back(set_place(manifest));
        return finish_set(writer, std::move(manifest));
    }

    /// What a package says of its size is only good for a first look.
    Result<void> take_space(std::uint64_t bytes, const std::string& what) {
        if (bytes > left_)
            return base::fail(Errc::NoSpace,
                              what + ": no space is left for its " + std::to_string(bytes >> 20U) + " MiB",
                              std::string(make_room));
        left_ -= bytes;
        return {};
    }

    void advance(std::uint64_t bytes) {
        done_ += bytes;
        progress_(std::min(1.0, static_cast<double>(done_) / static_cast<double>(expected_)), text_);
    }

    const base::Root& staging_;
    std::string version_;
    std::uint64_t left_; ///< of the space
    const OnProgress& progress_;
    std::uint64_t expected_;
    std::uint64_t done_ = 0;
    std::string text_;
    std::map<std::string, std::string> sonames_; ///< link → library
    std::map<std::string, std::string> links_;   ///< the packages' own
    Imported result_;
};

} // namespace

Result<Imported> stage_packages(const base::Root& staging, const std::vector<ImportFile>& files,
                                std::uint64_t space, const OnProgress& progress) {
    GPUHOST_TRY(packages, read_controls(files));
    GPUHOST_TRY(version, common_version(packages));
    const std::uint64_t needed = needed_space(packages);
    if (needed > space)
        return base::fail(Errc::NoSpace,
                          "importing " + version + " needs up to " + std::to_string(needed >> 20U) +
                              " MiB, but " + std::to_string(space >> 20U) + " MiB are free",
                          std::string(make_room));
    GPUHOST_CHECK(staging.remove_tree("/source"));
    Stager stager(staging, version, space, progress, needed);
    return stager.run(packages);
}

} // namespace gpuhost::kmod
