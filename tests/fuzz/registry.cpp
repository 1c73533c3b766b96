// SPDX-License-Identifier: Apache-2.0
// Parses a request: method, target, Range and If-None-Match, one line each.
#include "images/registry/registry.hpp"

#include "images/bundle/reference.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <array>

using namespace gpuhost;

namespace {

void check_request(std::string_view target) {
    const auto request = images::parse_registry_request(target);
    if (!request)
        return fuzz::require(request.error().status >= 400 && request.error().status < 500,
                             "an error is a client error");
    fuzz::require(request->hex.empty() || images::digest_hex("sha256:" + request->hex) == request->hex,
                  "a digest is valid");
    fuzz::require(request->tag.empty() || images::is_tag(request->tag), "a tag is valid");
}

void check_range(std::string_view header, std::uint64_t size) {
    const auto range = images::parse_range(header, size);
    if (range.kind == images::RangeRequest::Kind::Part)
        fuzz::require(range.part.length <= size && range.part.first <= size - range.part.length,
                      "a range is inside of the file");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto root = base::Root::open("/proc/self/fdinfo"); // has neither bundles nor blobs
    static images::Registry registry(*root);
    std::string_view text = fuzz::text_of(data, size);
    std::array<std::string_view, 4> lines;
    for (std::string_view& line : lines) {
        line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    const auto& [method, target, range, condition] = lines;
    check_request(target);
    check_range(range, 1000);
    check_range(range, 0);
    (void)images::names_etag(condition, "\"etag\"");
    const auto answer = registry.answer({method, target, range, {}, condition});
    fuzz::require(!answer.file, "no file is opened");
    fuzz::require(answer.status != 500, "no request causes an internal error");
    for (const auto& [name, value] : answer.headers)
        fuzz::require(value.find_first_of("\r\n") == std::string::npos, "a header is one line");
    return 0;
}
