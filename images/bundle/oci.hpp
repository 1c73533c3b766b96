// SPDX-License-Identifier: Apache-2.0
// Documents of the OCI image specification, and Docker's of the same shape: which content they name.
//
// They come from outside and are read with limits. A document that could be taken for two kinds (CVE-2021-41190),
// or says to be of another kind than what led to it, is refused.
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

constexpr std::size_t document_limit = 4U << 20U; ///< bytes; what the specification tells registries to take

struct Descriptor {
    std::string media_type;
    std::string hex; ///< of its SHA-256, checked
    std::uint64_t size = 0;
    std::string platform;      ///< "linux/arm64/v8"; empty: none stated
    std::string artifact_type; ///< empty: none stated
    std::vector<std::string>
        names;              ///< "io.containerd.image.name" and "org.opencontainers.image.ref.name", if stated
    std::string title;      ///< "org.opencontainers.image.title": a file's name
    bool elsewhere = false; ///< a layer that may not be passed on: has URLs, and may be missing
};

struct Document {
    std::string media_type;
    bool index = false;              ///< else an image's manifest
    std::vector<Descriptor> content; ///< an index's manifests, or a manifest's configuration and layers
    std::optional<Descriptor> subject;
    std::string artifact_type; ///< its own, or that of a manifest's configuration
    std::map<std::string, std::string> annotations;
    std::vector<std::string>
        left_out; ///< what an index has that goes by a digest of another algorithm: its name, or that digest
};

/// `media_type` is that of the descriptor that led here; empty where none did (index.json).
[[nodiscard]] base::Result<Document> parse_document(std::string_view text, std::string_view media_type,
                                                    std::string_view what);

/// Of a descriptor's "platform", or an image's configuration; empty where it states none. Any
/// words of whoever made it.
[[nodiscard]] std::string platform_of(const base::Json& value);

/// Is this media type that of an image's configuration?
[[nodiscard]] bool is_image_config(std::string_view media_type);

/// Is this media type one that parse_document() reads? All others are plain bytes.
[[nodiscard]] bool is_document(std::string_view media_type);

} // namespace gpuhost::images
