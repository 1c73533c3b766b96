// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/elf.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/package/package.hpp"
#include "kmod/store/layout.hpp"
#include "kmod/store/package_modules.hpp"
#include "kmod/store/stage.hpp"
#include "kmod/store/stage_source.hpp"
#include "kmod/store/supported_gpus.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <sys/stat.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using content::ArchiveEntry;
using content::PackageInfo;
using content::SetWriter;

namespace {

using Given = GivenPackage;

Result<std::vector<Given>> look_at(const std::vector<ImportFile>& files) {
    std::vector<Given> packages;
    for (const ImportFile& file : files) {
        GPUHOST_TRY(info, content::Package::look(file.fd, file.name));
        struct stat st {};
        if (::fstat(file.fd, &st) < 0)
            return base::fail_errno(file.name, errno);
        packages.push_back({file, std::move(info), static_cast<std::uint64_t>(st.st_size)});
    }
    return packages;
}

/// Returns the driver version of the packages. Fails with BadContent if they have several versions, or if one
/// is for another architecture. The error has all versions.
Result<std::string> common_version(const std::vector<Given>& packages) {
    std::map<std::string, std::vector<std::string>> by_version;
    for (const Given& package : packages) {
        const PackageInfo& info = package.info;
        if (!content::is_for_this_machine(info))
            return base::fail(Errc::BadContent,
                              package.file.name + ": is for " + info.architecture + ", this host is " +
                                  std::string(content::machine_of(info.form)),
                              "Leave it out, and import the packages for this host's architecture.");
        by_version[info.upstream].push_back(info.package);
    }
    std::vector<std::string> groups;
    groups.reserve(by_version.size());
    for (const auto& [version, names] : by_version)
        groups.push_back(version + " (" + base::join(names, ", ") + ")");
    if (groups.size() > 1)
        return base::fail(Errc::BadContent,
                          "the packages have different versions: " + base::join(groups, "; "),
                          "Import one driver version at a time.");
    if (!base::is_driver_version(by_version.begin()->first))
        return base::fail(Errc::BadContent, packages.front().file.name + ": '" + by_version.begin()->first +
                                                "' is not a driver version");
    return by_version.begin()->first;
}

/// Estimates the bytes that the packages need on the disk: their unpacked files, and the packages themselves,
/// which source sets contain.
std::uint64_t needed_space(const std::vector<Given>& packages) {
    std::uint64_t bytes = 0;
    for (const Given& package : packages)
        if (package.info.form == content::PackageForm::Run)
            bytes += 4 * package.bytes; // 610.57.04 has 463 MB, unpacked 1.8 GB, of which a part is not kept
        else
            bytes += package.bytes +
                     (package.info.installed_bytes != 0 ? package.info.installed_bytes : 10 * package.bytes);
    return bytes;
}

class Stager {
  public:
    Stager(const base::Root& staging, std::string version, std::uint64_t space, const OnProgress& progress,
           std::uint64_t expected)
        : staging_(staging), version_(std::move(version)), left_(space), progress_(progress),
          expected_(expected), modules_(staging), sources_(staging, version_) {}

    Result<Imported> run(const std::vector<Given>& packages) {
        GPUHOST_TRY(userland, SetWriter::create(staging_, "/userland"));
        for (const Given& package : packages)
            GPUHOST_CHECK(take(package, userland));
        GPUHOST_CHECK(link_libraries(userland));
        GPUHOST_CHECK(finish_userland(userland));
        GPUHOST_CHECK(finish_sets());
        if (result_.places.empty())
            return base::fail(Errc::BadContent, "no driver files found in these packages",
                              "Import Debian's nvidia-smi, libnvidia-ml1, libcuda1, firmware-nvidia-gsp and "
                              "nvidia-open-kernel-dkms, or packages with the same files.");
        result_.version = version_;
        return std::move(result_);
    }

  private:
    Result<void> take(const Given& given, SetWriter& userland) {
        const std::string& name = given.file.name;
        text_ = "unpacking " + given.info.package;
        GPUHOST_TRY(package, content::Package::open(given.file.fd, name));
        ImportedPackage counts{given.info.package, given.info.version, 0, 0};
        const bool is_packed = is_packed_again(given.info);
        std::optional<std::string> source;
        for (;;) {
            GPUHOST_TRY(entry, package.next());
            if (!entry)
                break;
            if (auto found = source_directory(*entry))
                source = std::move(found);
            if (is_packed && SourcePacker::is_source(*entry)) {
                GPUHOST_CHECK(pack_source(given, *entry, package));
                ++counts.kept;
            } else if (is_supported_gpus(*entry)) {
                GPUHOST_CHECK(read_gpus(package, name));
                ++counts.kept;
            } else if (const auto module = module_place(*entry)) {
                GPUHOST_CHECK(stage_module(*entry, *module, package, name));
                ++counts.kept;
            } else if (auto placed = place_in_userland(*entry)) {
                GPUHOST_CHECK(keep(*entry, *placed, package, userland, name));
                ++counts.kept;
            } else if (entry->type != ArchiveEntry::Type::Directory) {
                // Counts the file in the progress, because it is unpacked, although it is not written.
                advance(entry->size);
                ++counts.ignored;
            }
        }
        if (source && !is_packed)
            GPUHOST_CHECK(seal_source(given, *source));
        result_.packages.push_back(std::move(counts));
        return {};
    }

    Result<void> keep(const ArchiveEntry& entry, const Placement& placed, content::Package& package,
                      SetWriter& userland, const std::string& name) {
        const std::string where = name + ": '" + entry.path + "'";
        if (const auto version = version_in_path(entry.path); version && *version != version_)
            return base::fail(Errc::BadContent,
                              where + " has version " + *version + ", the package has version " + version_,
                              "Download the package again: it is inconsistent.");
        if (entry.type == ArchiveEntry::Type::HardLink)
            return base::fail(Errc::Unsupported, where + " is a hard link");
        if (entry.type == ArchiveEntry::Type::SymbolicLink) {
            links_.emplace(placed.path, entry.target);
            return {};
        }
        // The reader of the archive returns no more than entry.size bytes.
        GPUHOST_CHECK(reserve_space(entry.size, where));
        GPUHOST_CHECK(userland.add(placed.path, placed.executable, package.data(),
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
            return base::fail(Errc::BadContent, where + ": its soname is not a valid file name");
        if ("lib/" + *soname != path)
            sonames_.emplace("lib/" + *soname, path.substr(4));
        return {};
    }

    /// Adds links that are named by the sonames of libraries ("libcuda.so.1"). Programs find the libraries
    /// through these links. Packages do not contain them, since ldconfig or update-alternatives create such
    /// links. Also adds links of the packages ("libcuda.so") that lead to one of the libraries.
    Result<void> link_libraries(SetWriter& userland) {
        for (const auto& [path, target] : sonames_)
            if (!userland.has(path))
                GPUHOST_CHECK(userland.add_link(path, target));
        for (const auto& [path, target] : links_)
            if (!userland.has(path) && target.find('/') == std::string::npos && userland.has("lib/" + target))
                GPUHOST_CHECK(userland.add_link(path, target));
        return {};
    }

    /// Completes the userland set. Removes it if it has only files in doc/.
    Result<void> finish_userland(SetWriter& userland) {
        const bool useful =
            std::any_of(userland.files().begin(), userland.files().end(),
                        [](const auto& file) { return !base::starts_with(file.path, "doc/"); });
        if (!useful)
            return staging_.remove_tree("/userland");
        Manifest manifest;
        manifest.kind = SetKind::Userland;
        manifest.version = version_;
        manifest.closed_gpus = closed_gpus_;
        result_.places.push_back(set_place(manifest));
        return finish_set(userland, std::move(manifest));
    }

    Result<void> seal_source(const Given& given, const std::string& directory) {
        GPUHOST_CHECK(reserve_space(given.bytes, given.file.name));
        GPUHOST_TRY(manifest, stage_source(staging_, given, version_, directory,
                                           [this](std::uint64_t n) { advance(n); }));
        result_.places.push_back(set_place(manifest));
        return {};
    }

    Result<void> pack_source(const Given& given, const ArchiveEntry& entry, content::Package& package) {
        // Reserves the uncompressed size, although the compressed tar needs less.
        GPUHOST_CHECK(reserve_space(entry.size, given.file.name));
        if (auto packed = sources_.take(entry, package); !packed)
            return base::fail(packed.error().context(given.file.name));
        advance(entry.size);
        return {};
    }

    Result<void> read_gpus(content::Package& package, const std::string& name) {
        GPUHOST_TRY(text, package.data().read_all(supported_gpus_limit));
        GPUHOST_TRY(gpus, parse_supported_gpus(text, name + ": supported-gpus.json"));
        closed_gpus_ = std::move(gpus);
        return {};
    }

    Result<void> stage_module(const ArchiveEntry& entry, const ModulePlace& place, content::Package& package,
                              const std::string& name) {
        const std::string where = name + ": '" + entry.path + "'";
        if (entry.type != ArchiveEntry::Type::File)
            return base::fail(Errc::Unsupported, where + " is a link");
        GPUHOST_CHECK(reserve_space(entry.size, where));
        GPUHOST_CHECK(modules_.take(place, package.data()));
        advance(entry.size);
        return {};
    }

    Result<void> finish_sets() {
        GPUHOST_TRY(sources, sources_.finish());
        for (const Manifest& manifest : sources)
            result_.places.push_back(set_place(manifest));
        GPUHOST_TRY(manifests, modules_.stage(version_, left_));
        for (const Manifest& manifest : manifests)
            result_.places.push_back(set_place(manifest));
        return {};
    }

    /// Subtracts `bytes` from the space that may still be written. Fails with NoSpace if that space is too
    /// small. Called for each file, because the size that a package declares is only an estimate.
    Result<void> reserve_space(std::uint64_t bytes, const std::string& what) {
        if (bytes > left_)
            return base::fail(Errc::NoSpace,
                              what + ": not enough space for its " + std::to_string(bytes >> 20U) + " MiB",
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
    std::uint64_t left_; ///< bytes that may still be written
    const OnProgress& progress_;
    std::uint64_t expected_;
    std::uint64_t done_ = 0;
    std::string text_;
    PackageModules modules_;
    SourcePacker sources_;
    std::map<std::string, std::string> sonames_; ///< path of the link → file name of the library
    std::map<std::string, std::string> links_;   ///< links in the packages: path in the userland → target
    std::vector<std::string> closed_gpus_;
    Imported result_;
};

} // namespace

Result<Imported> stage_packages(const base::Root& staging, const std::vector<ImportFile>& files,
                                std::uint64_t space, const OnProgress& progress, const std::string& wanted) {
    GPUHOST_TRY(packages, look_at(files));
    GPUHOST_TRY(version, common_version(packages));
    GPUHOST_CHECK(check_version(version, wanted));
    const std::uint64_t needed = needed_space(packages);
    if (needed > space)
        return base::fail(Errc::NoSpace,
                          "importing " + version + " needs up to " + std::to_string(needed >> 20U) +
                              " MiB, but " + std::to_string(space >> 20U) + " MiB are free",
                          std::string(make_room));
    for (const char* kind : {"/source", "/modules"})
        GPUHOST_CHECK(staging.remove_tree(kind));
    Stager stager(staging, version, space, progress, needed);
    return stager.run(packages);
}

} // namespace gpuhost::kmod
