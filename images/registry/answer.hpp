// SPDX-License-Identifier: Apache-2.0
// Requests and answers of this host's HTTP servers, as values. Services use nothing else of HTTP.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"
#include "images/registry/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::images {

/// The relevant parts of an HTTP request. Absent headers are empty.
struct RegistryCall {
    std::string_view method;
    std::string_view target;
    std::string_view range;
    std::string_view if_range;
    std::string_view if_none_match;
};

struct RegistryAnswer {
    unsigned status = 200;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string text;    ///< the body, if `file` is closed
    base::UniqueFd file; ///< contains the body
    ByteRange part;      ///< its part in the file; for a 304, the part that a 200 would send
    std::string why;     ///< a log line for an administrator; empty: nothing unusual

    [[nodiscard]] std::uint64_t length() const { return file ? part.length : text.size(); }
};

template <class T>
using RegistryResult = tl::expected<T, RegistryError>;

[[nodiscard]] tl::unexpected<RegistryError> refuse(RegistryErrorCode code, unsigned status,
                                                   std::string message);
[[nodiscard]] RegistryAnswer json_answer(const base::Json& document, std::string_view media_type);
[[nodiscard]] RegistryAnswer error_answer(const RegistryError& error);
/// The same, with a line for the log.
[[nodiscard]] RegistryAnswer error_answer(const RegistryCall& call, const RegistryError& error);

/// An open blob.
struct BlobContent {
    base::UniqueFd fd;
    std::uint64_t size = 0;
};
[[nodiscard]] RegistryResult<BlobContent> open_blob(const base::Root& root, const std::string& hex);
/// Answers with the whole blob, the requested range, or "not modified".
[[nodiscard]] RegistryResult<RegistryAnswer> blob_answer(const base::Root& root, const RegistryCall& call,
                                                         const std::string& hex);
/// Adds headers for content with this digest. `by_digest`: the client asked by digest, so the answer never
/// changes.
void add_cache_headers(RegistryAnswer& answer, const std::string& hex, bool by_digest);

} // namespace gpuhost::images
