// SPDX-License-Identifier: Apache-2.0
#include "images/store/catalogue.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "images/bundle/layout.hpp"
#include "images/bundle/plain_file.hpp"
#include "images/bundle/reference.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t record_limit = 8U << 20U; ///< bytes; a bundle may have 10,000 registries and namespaces
constexpr std::size_t images_limit = 64U << 20U;
constexpr std::size_t blobs_limit = 128U << 20U;

std::string path_of(const std::string& name) {
    return std::string(catalogue_directory) + "/" + name;
}

constexpr std::string_view new_prefix = ".new-";
constexpr std::string_view absent_prefix = ".absent-";

/// Returns the path at which put() writes the new entry. After put() exchanged the new entry with the old
/// one, the old entry has this path.
std::string beside(const std::string& name) {
    return path_of(std::string(new_prefix) + name);
}

/// Returns the path of an empty file that records that put() replaced no entry.
std::string absent(const std::string& name) {
    return path_of(std::string(absent_prefix) + name);
}

std::string lines_of(const std::vector<OwnedBlob>& blobs) {
    std::string text;
    for (const OwnedBlob& blob : blobs)
        text += blob.hex + " " + std::to_string(blob.size) + "\n";
    return text;
}

Json to_json(const BundleImage& image) {
    Json value{{"name", image.name},
               {"digest", "sha256:" + image.hex},
               {"media_type", image.media_type},
               {"size", image.size},
               {"platforms", image.platforms}};
    if (image.subject.empty())
        return value;
    value["subject"] = "sha256:" + image.subject;
    value["artifact_type"] = image.artifact_type;
    value["annotations"] = image.annotations;
    return value;
}

Result<BundleImage> image_from_json(const Json& value) {
    BundleImage image;
    image.name = base::string_or(value, "name", "");
    image.hex = digest_hex(base::string_or(value, "digest", ""));
    image.media_type = base::string_or(value, "media_type", "");
    image.size = static_cast<std::uint64_t>(base::int_or(value, "size", 0));
    image.platforms = base::strings_or_empty(value, "platforms");
    image.subject = digest_hex(base::string_or(value, "subject", ""));
    image.artifact_type = base::string_or(value, "artifact_type", "");
    image.annotations = base::string_map_or_empty(value, "annotations");
    if (image.hex.empty())
        return base::fail(Errc::BadContent, "image '" + image.name + "' has no digest");
    return image;
}

} // namespace

Json to_json(const BundleRecord& record) {
    Json packages = Json::array();
    for (const PackageTree& tree : record.packages)
        packages.push_back(to_json(tree));
    Json files = Json::array();
    for (const FileSet& set : record.files)
        files.push_back({{"name", set.name},
                         {"files", set.files},
                         {"directory", files_directory(record.name, set.name)}});
    return {{"name", record.name},
            {"unsigned", !record.is_signed()},
            {"generation", record.generation},
            {"created", record.created},
            {"imported", record.imported},
            {"manifest", record.manifest},
            {"signer",
             {{"subject", record.signer.subject},
              {"sha256", record.signer.sha256},
              {"not_after", record.signer.not_after}}},
            {"blobs", record.blobs},
            {"bytes", record.bytes},
            {"images", record.images},
            {"registries", record.registries},
            {"namespaces", record.namespaces},
            {"drivers", record.drivers},
            {"packages", std::move(packages)},
            {"files", std::move(files)}};
}

Result<BundleRecord> record_from_json(const Json& value) {
    BundleRecord record;
    GPUHOST_TRY(name, base::get_string(value, "name"));
    GPUHOST_TRY(manifest, base::get_string(value, "manifest"));
    const auto number = [](const Json& object, std::string_view key) {
        return static_cast<std::uint64_t>(base::int_or(object, key, 0));
    };
    record.name = std::move(name);
    record.manifest = std::move(manifest);
    record.generation = number(value, "generation");
    record.created = number(value, "created");
    record.imported = number(value, "imported");
    record.blobs = number(value, "blobs");
    record.bytes = number(value, "bytes");
    const Json& signer = base::member(value, "signer");
    record.signer = {base::string_or(signer, "subject", ""), base::string_or(signer, "sha256", ""),
                     number(signer, "not_after")};
    record.images = number(value, "images");
    record.registries = base::strings_or_empty(value, "registries");
    record.namespaces = base::strings_or_empty(value, "namespaces");
    record.drivers = base::strings_or_empty(value, "drivers");
    for (const Json& one : base::member(value, "packages")) {
        GPUHOST_TRY(tree, package_tree_from_json(one));
        record.packages.push_back(std::move(tree));
    }
    for (const Json& one : base::member(value, "files")) {
        GPUHOST_TRY(set, base::get_string(one, "name"));
        if (!is_bundle_name(set))
            return base::fail(Errc::BadContent, "'" + set + "' is not a valid name of a set of files");
        record.files.push_back({std::move(set), number(one, "files")});
    }
    return record;
}

std::string packages_directory(const std::string& bundle, const std::string& distribution) {
    return path_of(bundle) + "/packages/" + distribution;
}

std::string files_directory(const std::string& bundle, const std::string& set) {
    return path_of(bundle) + "/files/" + set;
}

Result<std::vector<std::string>> Catalogue::names() const {
    auto names = root_.list(catalogue_directory);
    if (!names && names.error().code == Errc::NotFound)
        return std::vector<std::string>(); // nothing was ever imported
    // Skips .new-NAME, .absent-NAME and .generations.
    if (names)
        std::erase_if(*names, [](const std::string& name) { return !is_bundle_name(name); });
    return names;
}

Result<BundleRecord> Catalogue::record(const std::string& name) const {
    if (!is_bundle_name(name) || !root_.exists(path_of(name)))
        return base::fail(Errc::NotFound, "bundle '" + name + "' not found",
                          "Run 'gpuhostctl bundle list' to list the bundles of this host.");
    return read_record(path_of(name));
}

Result<BundleRecord> Catalogue::replaced(const std::string& name) const {
    return read_record(beside(name));
}

bool Catalogue::is_new(const std::string& name) const {
    return root_.exists(absent(name));
}

Result<BundleRecord> Catalogue::read_record(const std::string& directory) const {
    const std::string path = directory + "/record.json";
    GPUHOST_TRY(text, read_plain_file(root_, path, record_limit));
    GPUHOST_TRY(json, base::parse_json(text, path));
    GPUHOST_TRY(record, record_from_json(json));
    return std::move(record);
}

Result<std::vector<OwnedBlob>> Catalogue::blobs(const std::string& name) const {
    const std::string path = path_of(name) + "/blobs";
    GPUHOST_TRY(text, read_plain_file(root_, path, blobs_limit));
    std::vector<OwnedBlob> blobs;
    std::string_view left = text;
    while (!left.empty()) {
        const std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(left.size(), line.size() + 1));
        const auto size = line.size() > 65 ? base::parse_uint(line.substr(65)) : std::nullopt;
        if (!size || !content::is_sha256(line.substr(0, 64)))
            return base::fail(Errc::BadContent, path + ": a line is damaged", "Import the bundle again.");
        blobs.push_back({std::string(line.substr(0, 64)), *size});
    }
    return blobs;
}

Result<std::vector<BundleImage>> Catalogue::images(const std::string& name) const {
    const std::string path = path_of(name) + "/images.json";
    GPUHOST_TRY(text, read_plain_file(root_, path, images_limit));
    std::vector<BundleImage> images;
    const auto take = [&](const Json& value) -> Result<void> {
        GPUHOST_TRY(image, image_from_json(value));
        images.push_back(std::move(image));
        return {};
    };
    GPUHOST_CHECK(base::parse_json_list(text, path, "", take));
    return images;
}

Result<std::string> Catalogue::signed_manifest(const std::string& name) const {
    return read_plain_file(root_, path_of(name) + "/manifest.p7s", manifest_limit);
}

Result<base::UniqueFd> Catalogue::open_signed_manifest(const std::string& name) const {
    return open_plain_file(root_, path_of(name) + "/manifest.p7s");
}

Result<bool> Catalogue::is_of(const std::string& path, const std::string& digest) const {
    const auto text = read_plain_file(root_, path + "/record.json", record_limit);
    if (!text && text.error().code == Errc::NotFound)
        return false;
    if (!text)
        return base::fail(text.error());
    // Returns false for a damaged record, because put() has just written the record of `digest`.
    const auto json = base::parse_json(*text, path);
    return json && base::string_or(*json, "manifest", "") == digest;
}

Result<void> Catalogue::put(const CatalogueEntry& entry) const {
    const std::string place = path_of(entry.record.name);
    const std::string made = beside(entry.record.name);
    GPUHOST_TRY(is_there, is_of(place, entry.record.manifest));
    GPUHOST_TRY(is_made, is_of(made, entry.record.manifest));
    const bool kept = root_.exists(made + "/record.json") && !is_made;
    if (is_there && (kept || root_.exists(absent(entry.record.name))))
        // An interrupted run has done the exchange. The entry that it replaced must be kept for undo_put().
        return {};
    GPUHOST_CHECK(root_.remove_tree(made));
    GPUHOST_CHECK(root_.make_directories(made));
    const std::string manifest(entry.record.is_signed() ? "manifest.p7s" : unsigned_manifest);
    GPUHOST_CHECK(root_.write_atomic(made + "/" + manifest, entry.signed_manifest));
    GPUHOST_CHECK(root_.write_atomic(made + "/blobs", lines_of(entry.blobs)));
    for (const LinkTree& tree : entry.packages)
        GPUHOST_CHECK(make_link_tree(root_, made + "/packages/" + tree.name, tree.files));
    for (const LinkTree& tree : entry.files)
        GPUHOST_CHECK(make_link_tree(root_, made + "/files/" + tree.name, tree.files));
    Json images = Json::array();
    for (const BundleImage& image : entry.images)
        images.push_back(to_json(image));
    GPUHOST_CHECK(root_.write_atomic(made + "/images.json", base::dump(images)));
    GPUHOST_CHECK(root_.write_atomic(made + "/record.json", base::dump(to_json(entry.record))));
    if (root_.exists(place)) {
        GPUHOST_CHECK(root_.remove(absent(entry.record.name))); // left by an earlier put()
        return root_.exchange(made, place);
    }
    GPUHOST_CHECK(root_.write_atomic(absent(entry.record.name), ""));
    return root_.rename(made, place);
}

Result<void> Catalogue::undo_put(const std::string& name, const std::string& digest) const {
    const std::string place = path_of(name);
    const std::string kept = beside(name);
    GPUHOST_TRY(is_there, is_of(place, digest));
    if (is_there && root_.exists(absent(name))) {
        GPUHOST_CHECK(root_.remove_tree(kept));
        GPUHOST_CHECK(root_.rename(place, kept));
    } else if (is_there && root_.exists(kept + "/record.json")) {
        GPUHOST_CHECK(root_.exchange(kept, place));
    }
    return finalize();
}

Result<std::vector<std::string>> Catalogue::unfinalized() const {
    auto names = root_.list(catalogue_directory);
    if (!names && names.error().code == Errc::NotFound)
        return std::vector<std::string>();
    if (!names)
        return base::fail(names.error());
    // Finds the temporary files that write_atomic() leaves after a power cut.
    const auto cut_off = [](const std::string& name) {
        return base::starts_with(name, ".") && base::ends_with(name, ".tmp");
    };
    std::erase_if(*names, [&](const std::string& name) {
        return !base::starts_with(name, new_prefix) && !base::starts_with(name, absent_prefix) &&
               !cut_off(name);
    });
    return names;
}

Result<void> Catalogue::finalize() const {
    GPUHOST_TRY(names, unfinalized());
    for (const std::string& name : names)
        GPUHOST_CHECK(root_.remove_tree(path_of(name)));
    return {};
}

Result<void> Catalogue::strip(const std::string& name) const {
    for (const std::string_view file :
         {std::string_view("manifest.p7s"), unsigned_manifest, std::string_view("images.json")})
        GPUHOST_CHECK(root_.remove(path_of(name) + "/" + std::string(file)));
    GPUHOST_CHECK(root_.remove_tree(path_of(name) + "/files"));
    return root_.remove_tree(path_of(name) + "/packages");
}

Result<void> Catalogue::remove(const std::string& name) const {
    const std::string gone = beside(name);
    GPUHOST_CHECK(root_.remove_tree(gone));
    if (!root_.exists(path_of(name)))
        return {};
    GPUHOST_CHECK(root_.rename(path_of(name), gone));
    return root_.remove_tree(gone);
}

} // namespace gpuhost::images
