// SPDX-License-Identifier: Apache-2.0
#include "images/foreign/docker.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/archive/archive.hpp"
#include "images/bundle/reference.hpp"
#include "images/foreign/foreign.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using content::FileDigest;

namespace {

constexpr std::string_view manifest_type = "application/vnd.oci.image.manifest.v1+json";
constexpr std::string_view config_type = "application/vnd.oci.image.config.v1+json";
constexpr std::string_view layer_type = "application/vnd.oci.image.layer.v1.tar";
constexpr std::size_t most_images = 10'000;
constexpr std::size_t most_layers = 1'000;
constexpr std::size_t most_names = 1'000;

tl::unexpected<base::Error> bad(const std::string& why) {
    return base::fail(Errc::BadContent, "'manifest.json': " + why);
}

/// Returns the list of strings `key` of an image. A null counts as an empty list, because programs in Go
/// write an empty list as null.
Result<std::vector<std::string>> strings(const Json& image, std::string_view key, std::size_t most) {
    if (base::member(image, key).is_null())
        return std::vector<std::string>();
    GPUHOST_TRY(list, base::get_strings(image, key));
    if (list.size() > most)
        return bad("an image has more than " + std::to_string(most) + " " + std::string(key));
    return std::move(list);
}

Result<DockerImage> parse_image(const Json& value) {
    if (!value.is_object())
        return bad("an image is not an object");
    DockerImage image;
    GPUHOST_TRY(config, base::get_string(value, "Config"));
    GPUHOST_TRY(layers, strings(value, "Layers", most_layers));
    GPUHOST_TRY(tags, strings(value, "RepoTags", most_names));
    image.config = std::move(config);
    image.layers = std::move(layers);
    for (const std::string& tag : tags) {
        const auto reference = parse_reference(tag);
        if (!reference)
            return bad(reference.error().message);
        image.names.push_back(reference->text());
    }
    return image;
}

tl::unexpected<base::Error> bad_layer(const std::string& path, const std::string& why) {
    return base::fail(Errc::BadContent, "layer '" + path + "' " + why);
}

/// Returns "+gzip" or "+zstd" for a compressed layer, by its first bytes; else empty.
Result<std::string> packing_of(const BlobBytes& layer) {
    std::string start(std::min<std::uint64_t>(4, layer.size), '\0');
    if (::pread(layer.fd.get(), start.data(), start.size(), static_cast<off_t>(layer.offset)) < 0)
        return base::fail_errno("a layer", errno);
    if (base::starts_with(start, "\x1f\x8b"))
        return std::string("+gzip");
    return std::string(base::starts_with(start, "\x28\xb5\x2f\xfd") ? "+zstd" : "");
}

Result<std::string> unpacked_digest(const BlobBytes& layer, const std::string& path) {
    GPUHOST_TRY(reader,
                content::ArchiveReader::open(content::FilePart{layer.fd.get(), layer.offset, layer.size},
                                             content::ArchiveFormat::Raw, path, image_archive_limits));
    GPUHOST_TRY(entry, reader.next());
    if (!entry)
        return bad_layer(path, "is empty");
    GPUHOST_TRY(digest, reader.digest());
    return digest.sha256;
}

/// Returns the media type of a layer. `unpacked` is the digest of the uncompressed layer according to the
/// configuration. Fails with BadContent if the layer does not match that digest.
Result<std::string> layer_type_of(const FileDigest& layer, const std::string& path,
                                  const std::string& unpacked, const BlobSource& blobs) {
    if (layer.sha256 == unpacked)
        return std::string(layer_type);
    GPUHOST_TRY(bytes, blobs.open(layer.sha256));
    GPUHOST_TRY(packing, packing_of(bytes));
    if (!packing.empty()) {
        GPUHOST_TRY(digest, unpacked_digest(bytes, path));
        if (digest == unpacked)
            return std::string(layer_type) + packing;
    }
    return bad_layer(path, "does not match its digest in the image's configuration");
}

Json describe(std::string_view type, const FileDigest& blob) {
    return {{"mediaType", type}, {"digest", "sha256:" + blob.sha256}, {"size", blob.size}};
}

Result<Json> layers_of(const DockerImage& image, const Json& config, const FindFile& find,
                       const BlobSource& blobs) {
    const auto unpacked = base::strings_or_empty(base::member(config, "rootfs"), "diff_ids");
    if (unpacked.size() != image.layers.size())
        return bad("an image has " + std::to_string(image.layers.size()) +
                   " layers, but its configuration has " + std::to_string(unpacked.size()));
    Json layers = Json::array();
    for (std::size_t i = 0; i < unpacked.size(); ++i) {
        const std::string& path = image.layers[i];
        GPUHOST_TRY(layer, find(path));
        GPUHOST_TRY(type, layer_type_of(layer, path, std::string(digest_hex(unpacked[i])), blobs));
        layers.push_back(describe(type, layer));
    }
    return layers;
}

} // namespace

Result<std::vector<DockerImage>> parse_docker_manifest(std::string_view text) {
    GPUHOST_TRY(json, base::parse_json(text, "'manifest.json'"));
    if (!json.is_array() || json.size() > most_images)
        return bad("is not a list of at most " + std::to_string(most_images) + " images");
    std::vector<DockerImage> images;
    for (const Json& value : json) {
        GPUHOST_TRY(image, parse_image(value));
        images.push_back(std::move(image));
    }
    return images;
}

Result<std::vector<Descriptor>> convert_docker_image(const DockerImage& image, const FindFile& find,
                                                     BlobSink& blobs) {
    GPUHOST_TRY(config, find(image.config));
    GPUHOST_TRY(config_text, read_blob(blobs, config.sha256, document_limit));
    GPUHOST_TRY(config_json, base::parse_json(config_text, "'" + image.config + "'"));
    GPUHOST_TRY(layers, layers_of(image, config_json, find, blobs));
    GPUHOST_TRY(manifest, add_blob(blobs, base::dump({{"schemaVersion", 2},
                                                      {"mediaType", manifest_type},
                                                      {"config", describe(config_type, config)},
                                                      {"layers", std::move(layers)}})));
    Descriptor descriptor;
    descriptor.media_type = manifest_type;
    descriptor.hex = manifest.sha256;
    descriptor.size = manifest.size;
    std::vector<Descriptor> descriptors(std::max<std::size_t>(image.names.size(), 1), descriptor);
    for (std::size_t i = 0; i < image.names.size(); ++i)
        descriptors[i].names.push_back(image.names[i]);
    return descriptors;
}

} // namespace gpuhost::images
