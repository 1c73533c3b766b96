// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/stage_source.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/archive/tar_writer.hpp"

#include <fcntl.h>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using content::PackageInfo;
using content::SetWriter;

namespace {

constexpr std::string_view source_place = "usr/src/";
constexpr std::string_view source_names = "usr/src/nvidia";
constexpr std::string_view incoming = ".packed"; // name of the tar while it is written

/// Returns the package's file name by the convention of its format: NAME_VERSION_ARCHITECTURE.deb or
/// NAME-VERSION.ARCHITECTURE.rpm.
std::string sealed_name(const PackageInfo& info) {
    const std::string machine(content::machine_of(info.form));
    return info.form == content::PackageForm::Deb
               ? info.package + "_" + info.upstream + "_" + machine + ".deb"
               : info.package + "-" + info.upstream + "." + machine + ".rpm";
}

/// Begins the source set for the flavour in `manifest`. Fails with BadContent if it exists, so that a second
/// package cannot replace it.
Result<SetWriter> writer_for(const base::Root& staging, const Manifest& manifest) {
    const std::string place = "/source/" + manifest.flavour;
    if (staging.exists(place))
        return base::fail(Errc::BadContent,
                          "two packages contain the source of the " + manifest.flavour + " modules",
                          "Leave one of them out.");
    return SetWriter::create(staging, place);
}

Manifest manifest_of(const std::string& version, const std::string& directory, const std::string& package) {
    const bool open = (directory + package).find("open") != std::string::npos;
    Manifest manifest;
    manifest.kind = SetKind::Source;
    manifest.version = version;
    manifest.flavour = open ? "open" : "proprietary";
    manifest.directory = directory;
    return manifest;
}

} // namespace

Result<Manifest> stage_source(const base::Root& staging, const GivenPackage& given,
                              const std::string& version, const std::string& directory,
                              const content::OnBytes& on_bytes) {
    const Manifest manifest = manifest_of(version, directory, given.info.package);
    GPUHOST_TRY(writer, writer_for(staging, manifest));
    const content::ArchiveLimits limits{1, given.bytes, given.bytes, 256};
    GPUHOST_TRY(raw, content::ArchiveReader::open(given.file.fd, content::ArchiveFormat::Raw, given.file.name,
                                                  limits));
    GPUHOST_TRY(entry, raw.next());
    if (!entry)
        return base::fail(Errc::BadContent, given.file.name + ": is empty");
    GPUHOST_CHECK(writer.add(sealed_name(given.info), false, raw, on_bytes));
    GPUHOST_CHECK(finish_set(writer, manifest));
    return manifest;
}

/// A source set while its tar is written.
struct SourcePacker::Packed {
    Manifest manifest;
    SetWriter set;
    base::UniqueFd fd;
    content::TarWriter tar;
};

Result<SourcePacker::Packed*> SourcePacker::packed(const std::string& directory, const std::string& package) {
    if (const auto known = directories_.find(directory); known != directories_.end())
        return known->second.get();
    Manifest manifest = manifest_of(version_, directory, package);
    GPUHOST_TRY(set, writer_for(staging_, manifest));
    GPUHOST_TRY(fd, staging_.open_file("/source/" + manifest.flavour + "/" + std::string(incoming),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
    GPUHOST_TRY(tar, content::TarWriter::create(fd.get(), directory));
    auto made =
        std::make_shared<Packed>(Packed{std::move(manifest), std::move(set), std::move(fd), std::move(tar)});
    return directories_.emplace(directory, std::move(made)).first->second.get();
}

bool is_packed_again(const PackageInfo& info) {
    return info.form == content::PackageForm::Run || info.form == content::PackageForm::Tar;
}

bool SourcePacker::is_source(const content::ArchiveEntry& entry) {
    return base::starts_with(entry.path, source_names) && base::split(entry.path, '/').size() > 3 &&
           entry.type != content::ArchiveEntry::Type::Directory;
}

Result<void> SourcePacker::take(const content::ArchiveEntry& entry, content::Package& package) {
    if (entry.type == content::ArchiveEntry::Type::HardLink)
        return base::fail(Errc::Unsupported, "'" + entry.path + "' is a hard link");
    const std::string directory = entry.path.substr(0, entry.path.find('/', source_place.size()));
    GPUHOST_TRY(into, packed(directory, package.info().package));
    if (entry.type == content::ArchiveEntry::Type::SymbolicLink) {
        if (!content::link_stays_inside(entry.path.substr(directory.size() + 1), entry.target))
            return base::fail(Errc::BadContent,
                              "'" + entry.path + "' is a link to a path outside the source");
        return into->tar.add_link(entry.path, entry.target);
    }
    GPUHOST_CHECK(into->tar.begin(entry.path, (entry.mode & 0111U) != 0, entry.size));
    GPUHOST_CHECK(package.data().consume([&](std::string_view block) { return into->tar.write(block); }));
    return {};
}

Result<std::vector<Manifest>> SourcePacker::finish() {
    std::vector<Manifest> manifests;
    for (auto& [directory, packed] : directories_) {
        GPUHOST_TRY(digest, packed->tar.finish());
        const std::string name = directory.substr(directory.rfind('/') + 1);
        GPUHOST_CHECK(
            packed->set.adopt(std::string(incoming), name + std::string(content::source_suffix), digest));
        GPUHOST_CHECK(finish_set(packed->set, packed->manifest));
        manifests.push_back(packed->manifest);
    }
    return manifests;
}

} // namespace gpuhost::kmod
