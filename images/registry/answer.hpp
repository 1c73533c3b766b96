// SPDX-License-Identifier: Apache-2.0
// Requests and answers of gpuhost-registry's HTTP server, as values. A service needs nothing else of HTTP.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "images/registry/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhost::images {

/// An HTTP request without a body: method, target and the headers that services use. Absent headers are
/// empty. The views are valid during the call of answer().
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
    base::UniqueFd file; ///< if open: the file that contains the body
    ByteRange part;      ///< the body's range in `file`; for status 304, the range that status 200 would have
    std::string why;     ///< the reason of an error, for the log; empty: nothing to log

    [[nodiscard]] std::uint64_t length() const { return file ? part.length : text.size(); }
};

template <class T>
using RegistryResult = tl::expected<T, RegistryError>;

[[nodiscard]] tl::unexpected<RegistryError> refuse(RegistryErrorCode code, unsigned status,
                                                   std::string message);
[[nodiscard]] RegistryAnswer json_answer(const base::Json& document, std::string_view media_type);
[[nodiscard]] RegistryAnswer error_answer(const RegistryError& error);
/// Returns the answer of error_answer(error), with the error and the request's target in `why`, for the log.
[[nodiscard]] RegistryAnswer error_answer(const RegistryCall& call, const RegistryError& error);

/// An open blob of the store, with its size in bytes.
struct BlobContent {
    base::UniqueFd fd;
    std::uint64_t size = 0;
};
[[nodiscard]] RegistryResult<BlobContent> open_blob(const base::Root& root, const std::string& hex);
/// Answers a GET or HEAD of a blob: with the whole blob, the requested range (206), or "not modified" (304).
/// Fails with BlobUnknown if the blob is missing.
[[nodiscard]] RegistryResult<RegistryAnswer> blob_answer(const base::Root& root, const RegistryCall& call,
                                                         const std::string& hex);
/// Adds the headers Docker-Content-Digest, ETag and Cache-Control for content with this digest. `by_digest`:
/// the request named the content by its digest, so clients may cache the answer forever.
void add_cache_headers(RegistryAnswer& answer, const std::string& hex, bool by_digest);

} // namespace gpuhost::images
