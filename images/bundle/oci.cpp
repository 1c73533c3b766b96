// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/oci.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/json.hpp"
#include "images/bundle/reference.hpp"

#include <array>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::array indexes{std::string_view("application/vnd.oci.image.index.v1+json"),
                             std::string_view("application/vnd.docker.distribution.manifest.list.v2+json")};
constexpr std::array manifests{std::string_view("application/vnd.oci.image.manifest.v1+json"),
                               std::string_view("application/vnd.docker.distribution.manifest.v2+json")};
constexpr std::array configs{std::string_view("application/vnd.oci.image.config.v1+json"),
                             std::string_view("application/vnd.docker.container.image.v1+json")};
constexpr std::size_t most_descriptors = 10'000;
constexpr std::size_t most_shown = 100; ///< characters of an untrusted text in messages

/// Reports whether `digest` is well-formed but of an algorithm other than SHA-256. Such digests are not
/// supported here.
bool has_other_algorithm(std::string_view digest) {
    constexpr std::string_view characters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:+._=-";
    const auto colon = digest.find(':');
    return colon != 0 && colon != std::string_view::npos && colon + 1 < digest.size() &&
           digest.substr(0, colon) != "sha256" &&
           digest.find_first_not_of(characters) == std::string_view::npos;
}

std::vector<std::string> names_of(const Json& descriptor) {
    std::vector<std::string> names;
    const Json& annotations = base::member(descriptor, "annotations");
    for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"})
        if (std::string name = base::string_or(annotations, key, ""); !name.empty())
            names.push_back(std::move(name));
    return names;
}

Result<Descriptor> parse_descriptor(const Json& value, std::string_view what) {
    const auto bad = [&](std::string_view why) {
        return base::fail(Errc::BadContent, std::string(what) + ": " + std::string(why));
    };
    if (!value.is_object())
        return bad("a descriptor is not an object");
    const std::string digest = base::string_or(value, "digest", "");
    const std::int64_t size = base::int_or(value, "size", -1);
    Descriptor descriptor;
    descriptor.hex = digest_hex(digest);
    if (descriptor.hex.empty())
        return bad("'" + digest.substr(0, most_shown) + "' is not a sha256 digest");
    if (size < 0)
        return bad("the size of " + digest + " is missing or invalid");
    descriptor.size = static_cast<std::uint64_t>(size);
    descriptor.media_type = base::string_or(value, "mediaType", "");
    descriptor.platform = platform_of(base::member(value, "platform"));
    descriptor.artifact_type = base::string_or(value, "artifactType", "");
    descriptor.names = names_of(value);
    descriptor.title =
        base::string_or(base::member(value, "annotations"), "org.opencontainers.image.title", "");
    descriptor.elsewhere = !base::strings_or_empty(value, "urls").empty();
    return descriptor;
}

/// Adds an image with an unsupported digest to Document::left_out. Ignores a descriptor that is not an index
/// or manifest.
void leave_out(const Json& descriptor, Document& index) {
    const auto names = names_of(descriptor);
    const std::string name = names.empty() ? base::string_or(descriptor, "digest", "") : names.front();
    if (is_document(base::string_or(descriptor, "mediaType", "")))
        index.left_out.push_back(name.substr(0, most_shown));
}

Result<void> add_array(const Json& json, std::string_view key, std::string_view what, Document& document) {
    const Json& array = base::member(json, key);
    if (!array.is_array() || array.size() > most_descriptors)
        return base::fail(Errc::BadContent, std::string(what) + ": '" + std::string(key) +
                                                "' is not an array of at most " +
                                                std::to_string(most_descriptors));
    for (const Json& value : array) {
        if (document.index && has_other_algorithm(base::string_or(value, "digest", ""))) {
            leave_out(value, document);
            continue;
        }
        GPUHOST_TRY(descriptor, parse_descriptor(value, what));
        document.content.push_back(std::move(descriptor));
    }
    return {};
}

/// Returns true for an index and false for a manifest, by the keys of the document. Fails with BadContent if
/// it has the keys of both or of neither.
Result<bool> is_index(const Json& document, std::string_view what) {
    const bool index = document.contains("manifests");
    const bool manifest = document.contains("config") || document.contains("layers");
    if (index == manifest)
        return base::fail(Errc::BadContent,
                          std::string(what) + (index ? ": is both an index and a manifest"
                                                     : ": is neither an index nor a manifest"));
    return index;
}

Result<std::string> type_of(const Json& document, std::string_view media_type, bool index,
                            std::string_view what) {
    const std::string own = base::string_or(document, "mediaType", "");
    if (!own.empty() && !media_type.empty() && own != media_type)
        return base::fail(Errc::BadContent, std::string(what) + ": media type mismatch: is '" + own +
                                                "', but its descriptor has '" + std::string(media_type) +
                                                "'");
    std::string type = own.empty() ? std::string(media_type) : own;
    if (type.empty())
        type = index ? indexes[0] : manifests[0];
    if (index ? !base::contains(indexes, type) : !base::contains(manifests, type))
        return base::fail(Errc::BadContent, std::string(what) + ": is " +
                                                (index ? "an index" : "a manifest") +
                                                ", but its media type is '" + type + "'");
    return type;
}

} // namespace

std::string platform_of(const Json& value) {
    const std::string system = base::string_or(value, "os", "");
    std::string machine = base::string_or(value, "architecture", "");
    for (const auto& [other, own] : {std::pair("x86_64", "amd64"), std::pair("aarch64", "arm64")})
        if (machine == other)
            machine = own;
    const std::string variant = base::string_or(value, "variant", "");
    if (system.empty() || machine.empty())
        return {};
    return system + "/" + machine + (variant.empty() ? "" : "/" + variant);
}

bool is_image_config(std::string_view media_type) {
    return base::contains(configs, media_type);
}

bool is_document(std::string_view media_type) {
    return base::contains(indexes, media_type) || base::contains(manifests, media_type);
}

Result<Document> parse_document(std::string_view text, std::string_view media_type, std::string_view what) {
    if (text.size() > document_limit)
        return base::fail(Errc::BadContent, std::string(what) + ": larger than 4 MiB");
    GPUHOST_TRY(json, base::parse_json(text, what));
    if (!json.is_object() || base::int_or(json, "schemaVersion", 0) != 2)
        return base::fail(Errc::BadContent, std::string(what) + ": is not a document of schemaVersion 2");
    Document document;
    GPUHOST_TRY(index, is_index(json, what));
    document.index = index;
    GPUHOST_TRY(type, type_of(json, media_type, index, what));
    document.media_type = type;
    if (index) {
        document.artifact_type = base::string_or(json, "artifactType", "");
        GPUHOST_CHECK(add_array(json, "manifests", what, document));
    } else {
        GPUHOST_TRY(config, parse_descriptor(base::member(json, "config"), what));
        document.artifact_type = base::string_or(json, "artifactType", config.media_type);
        document.content.push_back(std::move(config));
        GPUHOST_CHECK(add_array(json, "layers", what, document));
    }
    document.annotations = base::string_map_or_empty(json, "annotations");
    if (json.contains("subject")) {
        GPUHOST_TRY(subject, parse_descriptor(json["subject"], what));
        document.subject = std::move(subject);
    }
    return document;
}

} // namespace gpuhost::images
