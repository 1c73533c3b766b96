// SPDX-License-Identifier: Apache-2.0
#include "images/registry/answer.hpp"

#include "daemon/base/json.hpp"
#include "images/store/blob_store.hpp"

#include <sys/stat.h>

namespace gpuhost::images {

using base::Json;
using Code = RegistryErrorCode;

tl::unexpected<RegistryError> refuse(Code code, unsigned status, std::string message) {
    return tl::unexpected<RegistryError>({code, status, std::move(message)});
}

RegistryAnswer json_answer(const Json& document, std::string_view media_type) {
    RegistryAnswer answer;
    answer.headers.emplace_back("Content-Type", media_type);
    answer.text = base::dump(document);
    return answer;
}

RegistryAnswer error_answer(const RegistryError& error) {
    RegistryAnswer answer = json_answer(
        Json{{"errors", {{{"code", word_of(error.code)}, {"message", error.message}, {"detail", nullptr}}}}},
        "application/json");
    answer.status = error.status;
    if (error.status == 405)
        answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
}

RegistryAnswer error_answer(const RegistryCall& call, const RegistryError& error) {
    RegistryAnswer answer = error_answer(error);
    answer.why = std::to_string(error.status) + " for '" + printable(call.target) + "': " + error.message;
    return answer;
}

void add_cache_headers(RegistryAnswer& answer, const std::string& hex, bool by_digest) {
    answer.headers.emplace_back("Docker-Content-Digest", "sha256:" + hex);
    answer.headers.emplace_back("ETag", "\"sha256:" + hex + "\"");
    answer.headers.emplace_back("Cache-Control",
                                by_digest ? "public, max-age=31536000, immutable" : "no-cache");
}

RegistryResult<BlobContent> open_blob(const base::Root& root, const std::string& hex) {
    auto fd = BlobStore(root).open(hex);
    if (!fd && fd.error().code == base::Errc::NotFound)
        return refuse(Code::BlobUnknown, 404, "blob not found on this host");
    struct stat st {};
    if (!fd || ::fstat(fd->get(), &st) < 0 || !S_ISREG(st.st_mode))
        return refuse(Code::Unknown, 500, fd ? "the blob is not a regular file" : fd.error().message);
    return BlobContent{*std::move(fd), static_cast<std::uint64_t>(st.st_size)};
}

RegistryResult<RegistryAnswer> blob_answer(const base::Root& root, const RegistryCall& call,
                                           const std::string& hex) {
    auto content = open_blob(root, hex);
    if (!content)
        return tl::unexpected<RegistryError>(content.error());
    RegistryAnswer answer;
    add_cache_headers(answer, hex, true);
    const std::string etag = "\"sha256:" + hex + "\"";
    answer.part = {0, content->size};
    if (names_etag(call.if_none_match, etag)) {
        answer.status = 304;
        return answer;
    }
    answer.headers.emplace_back("Content-Type", "application/octet-stream");
    answer.headers.emplace_back("Accept-Ranges", "bytes");
    const bool wants_part =
        !call.range.empty() && call.method == "GET" && (call.if_range.empty() || call.if_range == etag);
    if (wants_part) {
        const auto range = parse_range(call.range, content->size);
        const std::string of = "/" + std::to_string(content->size);
        if (range.kind == RangeRequest::Kind::Outside) {
            answer = error_answer({Code::RangeInvalid, 416, "the range is outside the blob"});
            answer.headers.emplace_back("Content-Range", "bytes *" + of);
            return answer;
        }
        if (range.kind == RangeRequest::Kind::Part) {
            answer.status = 206;
            answer.part = range.part;
            answer.headers.emplace_back("Content-Range",
                                        "bytes " + std::to_string(range.part.first) + "-" +
                                            std::to_string(range.part.first + range.part.length - 1) + of);
        }
    }
    answer.file = std::move(content->fd);
    return answer;
}

} // namespace gpuhost::images
