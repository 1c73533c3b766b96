// SPDX-License-Identifier: Apache-2.0
// Parses requests to a registry: the paths of the OCI distribution specification 1.1, and HTTP's byte ranges.
// The input is untrusted. Names and digests that do not match the specification's grammar are refused before
// they are looked up, used in a path or echoed.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// The error codes of the OCI distribution specification, which clients evaluate.
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
    /// The repository in the path, which may begin with a registry. The caller checks it with
    /// is_repository().
    std::string name;
    std::string ns;  ///< containerd's "?ns=": the registry of `name`; empty: not stated
    std::string hex; ///< SHA-256 in the path; empty for a tag, and for a sha512 digest
    std::string tag;
    std::optional<std::uint64_t> most; ///< "?n=": most tags in one answer
    std::string last;                  ///< "?last=": the last tag of the previous answer
    std::string artifact_type;         ///< "?artifactType=": only referrers of this type
};

/// Parses the target in a request's first line: a path with a query, or a whole URL, as clients send it to a
/// proxy. The error contains the HTTP status of the answer.
[[nodiscard]] tl::expected<RegistryRequest, RegistryError> parse_registry_request(std::string_view target);

/// Returns the code's text, such as "BLOB_UNKNOWN".
[[nodiscard]] std::string_view word_of(RegistryErrorCode code) noexcept;

struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};
struct RangeRequest {
    enum class Kind {
        None, ///< malformed, or several ranges: answer with the whole content, which HTTP allows
        Part,
        Outside,
    } kind = Kind::None;
    ByteRange part;
};
/// Parses a Range header for content of `size` bytes. Part: `part` is the requested range. Outside: the range
/// does not overlap the content, so the status is 416.
[[nodiscard]] RangeRequest parse_range(std::string_view header, std::uint64_t size);

/// Reports whether an If-None-Match header contains `etag` or "*".
[[nodiscard]] bool names_etag(std::string_view header, std::string_view etag);

/// Converts a registry from its form in a path, where ":" is not allowed: "registry.example_5000" →
/// "registry.example:5000".
[[nodiscard]] std::string registry_of_component(std::string_view component);

/// Returns a client's text in a form that is safe in one line of a log: shortened, and without special
/// characters.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace gpuhost::images
