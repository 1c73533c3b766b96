// SPDX-License-Identifier: Apache-2.0
// Parses documents of the OCI image specification, and Docker's of the same shape, for the content that they
// name.
//
// The documents are untrusted and read with limits. A document that could be read as two kinds
// (CVE-2021-41190) is refused, and so is one whose kind differs from that in its descriptor.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// In bytes. The OCI distribution specification expects registries to accept documents of this size.
constexpr std::size_t document_limit = 4U << 20U;

struct Descriptor {
    std::string media_type;
    std::string hex; ///< SHA-256, checked
    std::uint64_t size = 0;
    std::string platform;      ///< "linux/arm64/v8"; empty: none stated
    std::string artifact_type; ///< empty: none stated
    /// "io.containerd.image.name" and "org.opencontainers.image.ref.name", if stated.
    std::vector<std::string> names;
    std::string title;      ///< "org.opencontainers.image.title": a file's name
    bool elsewhere = false; ///< a layer that must not be redistributed: has URLs, and may be missing
};

struct Document {
    std::string media_type;
    bool index = false;              ///< else an image's manifest
    std::vector<Descriptor> content; ///< an index's manifests, or a manifest's configuration and layers
    std::optional<Descriptor> subject;
    std::string artifact_type; ///< its own, or that of a manifest's configuration
    std::map<std::string, std::string> annotations;
    /// Images of an index with a digest of another algorithm than SHA-256: the name, or that digest.
    std::vector<std::string> left_out;
};

/// `media_type` is the type in the document's descriptor; empty if there is none (index.json).
[[nodiscard]] base::Result<Document> parse_document(std::string_view text, std::string_view media_type,
                                                    std::string_view what);

/// Returns the platform in a descriptor's "platform" or in an image's configuration; empty if none is stated.
/// The text is untrusted.
[[nodiscard]] std::string platform_of(const base::Json& value);

/// Reports whether this is the media type of an image's configuration.
[[nodiscard]] bool is_image_config(std::string_view media_type);

/// Reports whether parse_document() reads this media type. All other types are plain bytes.
[[nodiscard]] bool is_document(std::string_view media_type);

} // namespace gpuhost::images
