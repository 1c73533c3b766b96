// SPDX-License-Identifier: Apache-2.0
// Parses documents and returns the descriptors in them. A document is an image index or manifest of OCI, or
// Docker's equivalent of one.
//
// Documents are untrusted, so size and number of descriptors are limited. A document that is valid as both an
// index and a manifest (CVE-2021-41190) is refused. A document whose media type differs from that in its
// descriptor is refused too.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The largest document, in bytes. The OCI distribution specification expects registries to accept manifests
/// of this size.
constexpr std::size_t document_limit = 4U << 20U;

struct Descriptor {
    std::string media_type;
    std::string hex; ///< SHA-256, in valid hex digits
    std::uint64_t size = 0;
    std::string platform;      ///< "linux/arm64/v8"; empty: none stated
    std::string artifact_type; ///< empty: none stated
    /// The annotations "io.containerd.image.name" and "org.opencontainers.image.ref.name", if present.
    std::vector<std::string> names;
    std::string title; ///< annotation "org.opencontainers.image.title": a file's name
    /// True if it has "urls": a layer that must not be redistributed, so its blob may be missing.
    bool elsewhere = false;
};

struct Document {
    std::string media_type;
    bool index = false; ///< true: an image index; false: a manifest
    /// The manifests of an index; the configuration and then the layers of a manifest.
    std::vector<Descriptor> content;
    std::optional<Descriptor> subject;
    std::string artifact_type; ///< "artifactType", or the media type of a manifest's configuration
    std::map<std::string, std::string> annotations;
    /// Images of an index that are missing in `content`, because their digest is not a SHA-256. Each is
    /// listed by its name; without a name, by that digest.
    std::vector<std::string> left_out;
};

/// Parses an index or manifest. `media_type` is the type in the document's descriptor; empty for a document
/// without a descriptor (index.json). `what` names the document in errors. Fails with BadContent for an
/// invalid one.
[[nodiscard]] base::Result<Document> parse_document(std::string_view text, std::string_view media_type,
                                                    std::string_view what);

/// Returns the platform, "linux/amd64", from a descriptor's "platform" or from an image's configuration.
/// Empty if the object states none. The result is untrusted text.
[[nodiscard]] std::string platform_of(const base::Json& value);

/// Reports whether this is the media type of an image's configuration.
[[nodiscard]] bool is_image_config(std::string_view media_type);

/// Reports whether this is the media type of an index or manifest, which parse_document() reads. Blobs of all
/// other types are plain bytes.
[[nodiscard]] bool is_document(std::string_view media_type);

} // namespace gpuhost::images
