// SPDX-License-Identifier: Apache-2.0
#include "images/foreign/foreign.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/plain_file.hpp"
#include "images/bundle/reference.hpp"
#include "images/foreign/docker.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using content::ArchiveEntry;
using content::FileDigest;

namespace {

constexpr std::string_view layout_file = "oci-layout";
constexpr std::string_view index_file = "index.json";
constexpr std::string_view docker_file = "manifest.json";
constexpr std::string_view docker_v1_file = "repositories";
constexpr std::size_t layout_limit = 4096;

std::string_view directory_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::string_view file_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// Reports whether a path in the archive is "…/blobs/sha256/FILE", where an image layout has its blobs.
bool is_blob(std::string_view path) {
    return base::ends_with("/" + std::string(directory_of(path)), "/blobs/sha256");
}

Result<void> check_layout_version(std::string_view text) {
    GPUHOST_TRY(version, base::parse_json(text, layout_file));
    if (base::string_or(version, "imageLayoutVersion", "") != "1.0.0")
        return base::fail(Errc::Unsupported, "is not an OCI image layout of version 1.0.0");
    return {};
}

Result<Document> parse_index(std::string_view text) {
    GPUHOST_TRY(document, parse_document(text, "", index_file));
    if (!document.index)
        return base::fail(Errc::BadContent, "'index.json' is not an index");
    return std::move(document);
}

/// The files of an archive, by their paths in the archive.
class Members {
  public:
    Members(std::string what, BlobSink& blobs) : what_(std::move(what)), blobs_(blobs) {}

    Result<void> read(content::ArchiveReader& archive, const std::function<void(std::uint64_t)>& on_bytes);
    [[nodiscard]] Result<std::string> text(const std::string& path, std::size_t limit) const;
    [[nodiscard]] bool has(const std::string& path) const { return files_.count(path) != 0; }
    [[nodiscard]] Result<FileDigest> find(const std::string& path) const;
    /// Returns the directories of the archive that contain a file of that name. Each ends with a slash; "" is
    /// the archive's top.
    [[nodiscard]] std::vector<std::string> directories_with(std::string_view name) const;

  private:
    Result<void> take(content::ArchiveReader& archive, const ArchiveEntry& entry,
                      const std::function<void(std::uint64_t)>& on_bytes);

    std::string what_;
    BlobSink& blobs_;
    std::map<std::string, FileDigest> files_;
    /// Path of a link → path of its target, from the archive's top.
    std::map<std::string, std::string> links_;
};

/// Returns the path of a link's target from the archive's top; nothing if the target is outside of the
/// archive.
std::optional<std::string> link_target(const ArchiveEntry& entry) {
    if (entry.type == ArchiveEntry::Type::HardLink)
        return entry.target;
    std::string_view target = entry.target;
    std::string_view directory = directory_of(entry.path);
    for (; base::starts_with(target, "../"); directory = directory_of(directory)) {
        if (directory.empty())
            return std::nullopt;
        target.remove_prefix(3);
    }
    auto rest = content::safe_relative_path(target);
    return rest && !directory.empty() ? std::string(directory) + "/" + *rest : rest;
}

Result<void> Members::take(content::ArchiveReader& archive, const ArchiveEntry& entry,
                           const std::function<void(std::uint64_t)>& on_bytes) {
    if (entry.type == ArchiveEntry::Type::Directory)
        return {};
    if (entry.type != ArchiveEntry::Type::File) {
        if (auto target = link_target(entry))
            links_.emplace(entry.path, *std::move(target));
        return {};
    }
    GPUHOST_TRY(file, blobs_.add(entry.size, [&](int fd) { return archive.copy_to(fd, on_bytes); }));
    if (is_blob(entry.path) && file_of(entry.path) != file.sha256)
        return base::fail(Errc::BadContent, what_ + ": '" + entry.path + "': digest mismatch",
                          "Copy the file again: it is damaged or was altered.");
    files_.emplace(entry.path, std::move(file));
    return {};
}

Result<void> Members::read(content::ArchiveReader& archive,
                           const std::function<void(std::uint64_t)>& on_bytes) {
    for (;;) {
        GPUHOST_TRY(entry, archive.next());
        if (!entry)
            return {};
        GPUHOST_CHECK(take(archive, *entry, on_bytes));
    }
}

Result<std::string> Members::text(const std::string& path, std::size_t limit) const {
    GPUHOST_TRY(file, find(path));
    if (file.size > limit)
        return base::fail(Errc::BadContent,
                          "'" + path + "': is larger than " + std::to_string(limit) + " bytes");
    return read_blob(blobs_, file.sha256, limit);
}

std::vector<std::string> Members::directories_with(std::string_view name) const {
    std::vector<std::string> found;
    for (const auto& [path, file] : files_)
        if (file_of(path) == name)
            found.push_back(path.substr(0, path.size() - name.size()));
    return found;
}

Result<FileDigest> Members::find(const std::string& path) const {
    const std::string name = content::safe_relative_path(path).value_or("");
    const auto link = links_.find(name);
    const auto file = files_.find(link == links_.end() ? name : link->second);
    if (file == files_.end())
        return base::fail(Errc::BadContent, "has no file '" + path + "', which an image needs");
    return file->second;
}

Result<Document> docker_index(std::string_view manifest, const Members& members, BlobSink& blobs) {
    GPUHOST_TRY(images, parse_docker_manifest(manifest));
    Document index;
    index.index = true;
    const auto find = [&](const std::string& path) { return members.find(path); };
    for (const DockerImage& image : images) {
        GPUHOST_TRY(descriptors, convert_docker_image(image, find, blobs));
        std::move(descriptors.begin(), descriptors.end(), std::back_inserter(index.content));
    }
    return index;
}

/// Returns the index of an image layout in the archive. `directory` is its directory with a trailing slash;
/// "" is the archive's top.
Result<Document> layout_index(const std::string& directory, const Members& members) {
    GPUHOST_TRY(layout, members.text(directory + std::string(layout_file), layout_limit));
    GPUHOST_CHECK(check_layout_version(layout));
    const std::string index_path = directory + std::string(index_file);
    if (!members.has(index_path))
        return base::fail(Errc::BadContent, "is an OCI image layout without '" + index_path + "'");
    GPUHOST_TRY(index, members.text(index_path, document_limit));
    return parse_index(index);
}

/// Returns the index of the archive's images. Uses the image layout at the archive's top, else manifest.json
/// at the top, else the only image layout in a directory. Fails if several directories have a layout.
Result<Document> index_of(const Members& members, BlobSink& blobs) {
    if (members.has(std::string(layout_file)))
        return layout_index("", members);
    if (const std::string docker(docker_file); members.has(docker)) {
        GPUHOST_TRY(text, members.text(docker, document_limit));
        return docker_index(text, members, blobs);
    }
    if (members.has(std::string(docker_v1_file)))
        return base::fail(Errc::Unsupported,
                          "is an archive of Docker before 1.10: 'repositories' without 'manifest.json'",
                          "Convert it with Docker 1.10 to 24: docker load <OLD && docker save IMAGE >NEW");
    const auto layouts = members.directories_with(layout_file);
    if (layouts.size() == 1)
        return layout_index(layouts.front(), members);
    if (layouts.size() > 1)
        return base::fail(Errc::Unsupported,
                          "has " + std::to_string(layouts.size()) + " image layouts, in '" + layouts[0] +
                              "', '" + layouts[1] + (layouts.size() > 2 ? "', …" : "'"),
                          "Unpack it, and import one directory after the other.");
    return base::fail(Errc::BadContent, "has no images: 'oci-layout' and 'manifest.json' not found",
                      "Use an archive that 'docker save', 'podman save' or 'skopeo copy' wrote.");
}

} // namespace

Result<Document> read_image_archive(content::ArchiveReader archive, const std::string& what, BlobSink& blobs,
                                    const std::function<void(std::uint64_t)>& on_bytes) {
    Members members(what, blobs);
    GPUHOST_CHECK(members.read(archive, on_bytes));
    auto index = index_of(members, blobs);
    if (!index)
        return base::fail(std::move(index).error().context(what));
    return index;
}

Result<Document> read_layout_index(const base::Root& layout) {
    // A symbolic link or a pipe instead of a file is an error.
    GPUHOST_TRY(version, read_plain_file(layout, "/oci-layout", layout_limit));
    GPUHOST_CHECK(check_layout_version(version));
    GPUHOST_TRY(index, read_plain_file(layout, "/index.json", document_limit));
    return parse_index(index);
}

std::string own_name(const Descriptor& image) {
    for (const std::string& name : image.names)
        if (name.find_first_of("/:@") != std::string::npos)
            if (const auto reference = parse_reference(name); reference && reference->digest.empty())
                return reference->text();
    return {};
}

} // namespace gpuhost::images
