// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/elf.hpp"
#include "daemon/base/mapped_file.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/set/set_writer.hpp"
#include "daemon/runtime/toolkit/package.hpp"
#include "daemon/runtime/toolkit/set.hpp"
#include "daemon/runtime/toolkit/stage.hpp"

#include <climits>
#include <map>

#include <fcntl.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Result;
using content::ArchiveEntry;

namespace {

constexpr std::size_t most_kept = 500; ///< number of files; a toolkit has about 20

bool is_library(std::string_view name) {
    return base::starts_with(name, "lib") && name.find(".so") != std::string_view::npos;
}

/// Returns true if the path is that of a program, library or licence of a toolkit.
bool is_kept(const std::string& path) {
    const std::vector<std::string> parts = base::split(path, '/');
    if (parts.size() < 3 || parts[0] != "usr")
        return false;
    if (parts[1] == "bin")
        return parts.size() == 3;
    if (parts[1] == "lib" || parts[1] == "lib64")
        return parts.size() <= 4 && is_library(parts.back());
    return parts[1] == "share" && parts.size() == 5 && (parts[2] == "doc" || parts[2] == "licenses") &&
           (parts[4] == "copyright" || parts[4] == "LICENSE");
}

bool is_package(std::string_view path) {
    return base::ends_with(path, ".deb") || base::ends_with(path, ".rpm");
}

class Unpacker {
  public:
    Unpacker(const base::Root& staging, content::SetWriter& writer, std::uint64_t space,
             const std::function<void(double, std::string_view)>& progress)
        : staging_(staging), writer_(writer), left_(space), progress_(progress) {}

    /// Unpacks a file. `is_inner`: it was a member of a tar, so it may not contain packages itself.
    Result<void> take(const content::ImportFile& file, bool is_inner) {
        GPUHOST_TRY(package, ToolkitPackage::open(file.fd, file.name));
        progress_(-1, "unpacking " + package.name().package);
        std::uint64_t kept = 0;
        bool has_packages = false;
        for (;;) {
            GPUHOST_TRY(entry, package.next());
            if (!entry)
                break;
            if (package.is_tar() && !is_inner && entry->type == ArchiveEntry::Type::File &&
                is_package(entry->path)) {
                GPUHOST_CHECK(unpack_inner(package, *entry));
                has_packages = true;
            } else if (is_kept(entry->path) && entry->type != ArchiveEntry::Type::Directory) {
                GPUHOST_CHECK(keep(package, *entry, file.name));
                ++kept;
            } else if (entry->type != ArchiveEntry::Type::Directory) {
                ++staged_.ignored;
            }
        }
        staged_.kept += kept;
        return has_packages && kept == 0 ? Result<void>() : remember(package.name(), file.name);
    }

    Result<StagedToolkit> finish() {
        for (const auto& [path, target] : links_)
            if (!writer_.has(path))
                GPUHOST_CHECK(writer_.add_link(path, target));
        GPUHOST_CHECK(check_program());
        ToolkitManifest manifest{staged_.version, staged_.packages, {}};
        GPUHOST_CHECK(writer_.finish([&](const std::vector<content::TreeFile>& files) {
            manifest.files = files;
            return encode(manifest);
        }));
        return std::move(staged_);
    }

  private:
    /// Unpacks a package that is a member of a tar, as in NVIDIA's releases. Copies it to an unlinked file
    /// first, because packages are read from a regular file.
    Result<void> unpack_inner(ToolkitPackage& tar, const ArchiveEntry& entry) {
        GPUHOST_CHECK(reserve_space(entry.size, entry.path));
        GPUHOST_TRY(fd, staging_.open_file("/unpacked", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
        GPUHOST_CHECK(staging_.remove("/unpacked"));
        GPUHOST_TRY(written, tar.data().copy_to(fd.get()));
        GPUHOST_CHECK(take({fd.get(), entry.path.substr(entry.path.rfind('/') + 1)}, true));
        left_ += written.size;
        return {};
    }

    Result<void> keep(ToolkitPackage& package, const ArchiveEntry& entry, const std::string& file) {
        const std::string where = file + ": '" + entry.path + "'";
        if (entry.type == ArchiveEntry::Type::HardLink)
            return base::fail(Errc::Unsupported, where + " is a hard link");
        if (entry.type == ArchiveEntry::Type::SymbolicLink) {
            if (!content::link_stays_inside(entry.path, entry.target))
                return base::fail(Errc::BadContent,
                                  where + " is a link that points outside, to '" + entry.target + "'");
            if (entry.target.size() >= PATH_MAX)
                return base::fail(Errc::BadContent, where + " is a link with a target that is too long");
            if (const auto known = links_.emplace(entry.path, entry.target);
                known.first->second != entry.target)
                return base::fail(Errc::BadContent, where + " has another target in another package");
            return check_count(where);
        }
        GPUHOST_CHECK(check_count(where));
        // `entry.size` is the declared size; the archive's reader enforces it.
        GPUHOST_CHECK(reserve_space(entry.size, where));
        return writer_.add(entry.path, (entry.mode & 0111U) != 0, package.data());
    }

    [[nodiscard]] Result<void> check_count(const std::string& where) const {
        if (writer_.files().size() + links_.size() >= most_kept)
            return base::fail(Errc::BadContent,
                              where + ": more than " + std::to_string(most_kept) + " files of a toolkit");
        return {};
    }

    Result<void> remember(const PackageName& name, const std::string& file) {
        if (name.toolkit.empty())
            return base::fail(
                Errc::BadContent, file + ": does not state the version of the toolkit",
                "Give a tar archive a name with the version: nvidia-container-toolkit-1.18.1.tar.gz.");
        if (!staged_.version.empty() && staged_.version != name.toolkit)
            return base::fail(Errc::BadContent,
                              "the packages are of different versions: " + staged_.packages.front() +
                                  " and " + name.package + " " + name.version,
                              "Import one version of the toolkit at a time.");
        staged_.version = name.toolkit;
        staged_.packages.push_back(name.package + " " + name.version);
        return {};
    }

    /// Checks the architecture of the toolkit by its main program, because a tar does not state it. If the
    /// program is a script, any architecture fits.
    Result<void> check_program() const {
        const std::string program = "usr/bin/" + std::string(toolkit_program);
        if (!writer_.has(program))
            return base::fail(Errc::BadContent, "these packages have no " + std::string(toolkit_program),
                              "Import nvidia-container-toolkit-base, nvidia-container-toolkit, "
                              "libnvidia-container-tools and libnvidia-container1, or the first alone; in a "
                              "tar archive the files must be below usr/.");
        GPUHOST_TRY(fd, writer_.open(program));
        GPUHOST_TRY(mapped, base::MappedFile::open(fd.get(), program));
        if (base::starts_with(mapped.view(), "#!"))
            return {};
        const auto elf = base::Elf::parse(mapped.view(), program);
        return elf ? Result<void>() : base::fail(elf.error());
    }

    /// Counts bytes against `space`, or fails with NoSpace.
    Result<void> reserve_space(std::uint64_t bytes, const std::string& what) {
        if (bytes > left_)
            return base::fail(
                Errc::NoSpace, what + ": no space is left for its " + std::to_string(bytes >> 20U) + " MiB",
                "Free space in /var/lib/gpuhost, for example with 'gpuhostctl toolkit remove'.");
        left_ -= bytes;
        return {};
    }

    const base::Root& staging_;
    content::SetWriter& writer_;
    std::uint64_t left_; ///< bytes of `space` that are left
    const std::function<void(double, std::string_view)>& progress_;
    std::map<std::string, std::string> links_;
    StagedToolkit staged_;
};

} // namespace

Result<StagedToolkit> stage_toolkit(const base::Root& staging, const std::string& place,
                                    const std::vector<content::ImportFile>& files, std::uint64_t space,
                                    const std::function<void(double, std::string_view)>& progress) {
    if (files.empty())
        return base::fail(Errc::BadContent, "it has no files");
    GPUHOST_TRY(writer, content::SetWriter::create(staging, place));
    Unpacker unpacker(staging, writer, space, progress);
    for (const content::ImportFile& file : files)
        GPUHOST_CHECK(unpacker.take(file, false));
    return unpacker.finish();
}

} // namespace gpuhost::runtime
