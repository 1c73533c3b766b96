// SPDX-License-Identifier: Apache-2.0
// Parses requests to a registry: the paths of the OCI distribution specification 1.1, and HTTP's byte ranges.
// The input is untrusted. The functions accept only what matches the specification's grammar; nothing else is
// looked up, used in a path or echoed.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// The specification's error codes, which clients act upon.
enum class RegistryErrorCode {
    BlobUnknown,
    Denied,
    DigestInvalid,
    ManifestUnknown,
    NameInvalid,
    NameUnknown,
    PageInvalid,
    RangeInvalid,
    Unsupported,
    Unknown, ///< an internal error of the server
};
struct RegistryError {
    RegistryErrorCode code = RegistryErrorCode::Unknown;
    unsigned status = 400;
    std::string message;
};

enum class Endpoint { Base, Blob, Manifest, Tags, Referrers, Metrics };

struct RegistryRequest {
    Endpoint endpoint = Endpoint::Base;
    std::string name; ///< as in the path; may begin with a registry, and is checked when that is known
    std::string ns;   ///< containerd's "?ns=": the registry of `name`; empty: not stated
    std::string hex;  ///< of the digest; empty for a tag or for a digest of another algorithm
    std::string tag;
    std::optional<std::uint64_t> most; ///< tags per page, "?n="
    std::string last;                  ///< the last tag of the previous page
    std::string artifact_type;         ///< filter for referrers
};

/// Parses the target in a request's first line: a path, or a URL as proxies receive it.
[[nodiscard]] tl::expected<RegistryRequest, RegistryError> parse_registry_request(std::string_view target);

/// Returns the code's text, such as "BLOB_UNKNOWN".
[[nodiscard]] std::string_view word_of(RegistryErrorCode code) noexcept;

struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};
struct RangeRequest {
    enum class Kind {
        None, ///< not a single byte range; HTTP lets servers ignore it
        Part,
        Outside,
    } kind = Kind::None;
    ByteRange part;
};
/// Parses a Range header for content of `size` bytes.
[[nodiscard]] RangeRequest parse_range(std::string_view header, std::uint64_t size);

/// Reports whether an If-None-Match header contains `etag`.
[[nodiscard]] bool names_etag(std::string_view header, std::string_view etag);

/// Converts the form in a path to a registry: "registry.example_5000" → "registry.example:5000".
[[nodiscard]] std::string registry_of_component(std::string_view component);

/// Makes a client's text safe for one line of a log.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace gpuhost::images
