// SPDX-License-Identifier: Apache-2.0
#include "images/foreign.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "images/foreign_docker.hpp"
#include "images/plain_file.hpp"
#include "images/reference.hpp"

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
constexpr std::string_view blobs_prefix = "blobs/sha256/";
constexpr std::size_t layout_limit = 4096;

Result<void> check_layout_version(std::string_view text) {
    GPUHOST_TRY(version, base::parse_json(text, layout_file));
    if (base::string_or(version, "imageLayoutVersion", "") != "1.0.0")
        return base::fail(Errc::Unsupported, "is no OCI image layout of version 1.0.0");
    return {};
}

Result<Document> parse_index(std::string_view text) {
    GPUHOST_TRY(document, parse_document(text, "", index_file));
    if (!document.index)
        return base::fail(Errc::BadContent, "'index.json' is no index");
    return std::move(document);
}

/// What is in an archive by the names that it has there.
class Members {
  public:
    Members(std::string what, BlobSink& blobs) : what_(std::move(what)), blobs_(blobs) {}

    Result<void> read(content::ArchiveReader& archive, const std::function<void(std::uint64_t)>& on_bytes);
    /// Null if there is none.
    [[nodiscard]] const std::string* text(std::string_view name) const;
    [[nodiscard]] bool has(const std::string& path) const { return files_.count(path) != 0; }
    [[nodiscard]] Result<FileDigest> find(const std::string& path) const;

  private:
    Result<void> take(content::ArchiveReader& archive, const ArchiveEntry& entry,
                      const std::function<void(std::uint64_t)>& on_bytes);

    std::string what_;
    BlobSink& blobs_;
    std::map<std::string, std::string, std::less<>> texts_;
    std::map<std::string, FileDigest> files_;
    std::map<std::string, std::string> links_; ///< where each leads, from the archive's top
};

/// Where a link in the archive leads to in it; nothing if that is outside.
std::optional<std::string> link_target(const ArchiveEntry& entry) {
    if (entry.type == ArchiveEntry::Type::HardLink)
        return entry.target;
    std::string_view target = entry.target;
    std::string_view directory = entry.path;
    const auto climb = [&] {
        const auto slash = directory.rfind('/');
        directory = directory.substr(0, slash == std::string_view::npos ? 0 : slash);
    };
    for (climb(); base::starts_with(target, "../"); climb()) {
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
    if (entry.path == layout_file || entry.path == index_file || entry.path == docker_file) {
        GPUHOST_TRY(text, archive.read_all(entry.path == layout_file ? layout_limit : document_limit));
        texts_.emplace(entry.path, std::move(text));
        return {};
    }
    GPUHOST_TRY(file, blobs_.add(entry.size, [&](int fd) { return archive.copy_to(fd, on_bytes); }));
    if (base::starts_with(entry.path, blobs_prefix) && entry.path.substr(blobs_prefix.size()) != file.sha256)
        return base::fail(Errc::BadContent,
                          what_ + ": '" + entry.path + "': its bytes are not those of its digest",
                          "The file is damaged or was altered; copy it again.");
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

const std::string* Members::text(std::string_view name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? nullptr : &found->second;
}

Result<FileDigest> Members::find(const std::string& path) const {
    const std::string name = content::safe_relative_path(path).value_or("");
    const auto link = links_.find(name);
    const auto file = files_.find(link == links_.end() ? name : link->second);
    if (file == files_.end())
        return base::fail(Errc::BadContent, "has no file '" + path + "', which an image needs");
    return file->second;
}

Result<Document> docker_index(const std::string& text, const Members& members, BlobSink& blobs) {
    GPUHOST_TRY(images, parse_docker_manifest(text));
    Document index;
    index.index = true;
    const auto find = [&](const std::string& path) { return members.find(path); };
    for (const DockerImage& image : images) {
        GPUHOST_TRY(descriptors, adopt_docker_image(image, find, blobs));
        std::move(descriptors.begin(), descriptors.end(), std::back_inserter(index.content));
    }
    return index;
}

Result<Document> index_of(const Members& members, BlobSink& blobs) {
    if (const std::string* const layout = members.text(layout_file)) {
        GPUHOST_CHECK(check_layout_version(*layout));
        const std::string* const index = members.text(index_file);
        if (index == nullptr)
            return base::fail(Errc::BadContent, "is an OCI image layout without 'index.json'");
        return parse_index(*index);
    }
    if (const std::string* const docker = members.text(docker_file))
        return docker_index(*docker, members, blobs);
    if (members.has("repositories"))
        return base::fail(Errc::Unsupported, "was saved by a Docker older than 1.10",
                          "Load it into a newer one, and save it again.");
    return base::fail(Errc::BadContent, "has no images: neither 'oci-layout' nor 'manifest.json' is in it",
                      "What 'docker save', 'podman save' and 'skopeo copy' write is read.");
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
    // Neither a link nor a pipe, which would be waited for.
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
