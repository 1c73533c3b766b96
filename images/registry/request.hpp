// SPDX-License-Identifier: Apache-2.0
// What a client asks a registry for: the paths of the OCI distribution specification 1.1, and HTTP's byte ranges. All
// of it comes from outside: what these functions let through has the specification's grammar, and nothing else is
// looked up, named in a path or echoed.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::images {

/// The specification's words for an error, which clients act upon.
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
    Unknown, ///< of no use to the client: the server's own trouble
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
    std::string ns;   ///< containerd's "?ns=": the registry that `name` is in; empty: not said
    std::string hex;  ///< of the digest; empty where a tag is asked for, or another algorithm's digest
    std::string tag;
    std::optional<std::uint64_t> most; ///< tags on a page, "?n="
    std::string last;                  ///< the tag before the page
    std::string artifact_type;         ///< of referrers
};

/// `target` is what stands between method and version in a request's first line: a path, or as proxies get it a URL.
[[nodiscard]] tl::expected<RegistryRequest, RegistryError> parse_registry_request(std::string_view target);

/// The word for it, as "BLOB_UNKNOWN".
[[nodiscard]] std::string_view word_of(RegistryErrorCode code) noexcept;

struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};
struct RangeRequest {
    enum class Kind {
        None, ///< not a single range of bytes: HTTP lets servers ignore it
        Part,
        Outside,
    } kind = Kind::None;
    ByteRange part;
};
/// What a Range header asks of `size` bytes.
[[nodiscard]] RangeRequest parse_range(std::string_view header, std::uint64_t size);

/// Is `etag` among those of an If-None-Match header?
[[nodiscard]] bool names_etag(std::string_view header, std::string_view etag);

/// "registry.example_5000", as a path has it, is "registry.example:5000".
[[nodiscard]] std::string registry_of_component(std::string_view component);

/// What a client sent, fit for one line of a log.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace gpuhost::images
