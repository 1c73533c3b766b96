// SPDX-License-Identifier: Apache-2.0
// What is asked of a server here and what it answers, as values: all that those who answer know of HTTP.
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

/// What of an HTTP request matters here. Headers that are absent are empty.
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
    std::string text;    ///< the body, where no file is
    base::UniqueFd file; ///< the body is in it,
    ByteRange part;      ///< here; of a 304, what would have been sent
    std::string why;     ///< of what a person may wonder about; a line for the log

    [[nodiscard]] std::uint64_t length() const { return file ? part.length : text.size(); }
};

template <class T>
using Found = tl::expected<T, RegistryError>;

[[nodiscard]] tl::unexpected<RegistryError> refuse(RegistryErrorCode code, unsigned status,
                                                   std::string message);
[[nodiscard]] RegistryAnswer json_answer(const base::Json& document, std::string_view media_type);
[[nodiscard]] RegistryAnswer error_answer(const RegistryError& error);
/// The same, with what a log says of it.
[[nodiscard]] RegistryAnswer error_answer(const RegistryCall& call, const RegistryError& error);

/// A blob that is open.
struct BlobContent {
    base::UniqueFd fd;
    std::uint64_t size = 0;
};
[[nodiscard]] Found<BlobContent> open_blob(const base::Root& root, const std::string& hex);
/// All of it, the part that is asked for, or that the client has it.
[[nodiscard]] Found<RegistryAnswer> blob_answer(const base::Root& root, const RegistryCall& call,
                                                const std::string& hex);
/// For what has this digest; `by_digest`: for whoever asked by it.
void add_cache_headers(RegistryAnswer& answer, const std::string& hex, bool by_digest);

} // namespace gpuhost::images
