// SPDX-License-Identifier: Apache-2.0
#include "images/registry/request.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/reference.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::images {

namespace {

using Code = RegistryErrorCode;
template <class T>
using Parsed = tl::expected<T, RegistryError>;

constexpr std::size_t longest_target = 4096;
constexpr std::size_t longest_printed = 200;

tl::unexpected<RegistryError> refuse(Code code, unsigned status, std::string message) {
    return tl::unexpected<RegistryError>({code, status, std::move(message)});
}

/// Decodes percent-encoding. Returns nothing for a % without two hex digits, and for control characters. Does
/// not decode '+' as a blank: media types contain '+', and no valid request contains a blank.
std::optional<std::string> unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            const auto byte =
                text.size() - i > 2 ? base::parse_uint(text.substr(i + 1, 2), 16) : std::nullopt;
            if (!byte)
                return std::nullopt;
            c = static_cast<char>(*byte);
            i += 2;
        }
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
            return std::nullopt;
        out += c;
    }
    return out;
}

Parsed<void> parse_parameter(RegistryRequest& request, std::string_view pair) {
    const auto equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const auto value =
        unescape(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    if (!value)
        return refuse(Code::Unsupported, 400, "invalid percent-encoding in the query");
    if (key == "ns")
        request.ns = *value;
    else if (key == "last")
        request.last = *value;
    else if (key == "artifactType")
        request.artifact_type = *value;
    else if (key == "n" && !(request.most = base::parse_uint(*value)))
        return refuse(Code::PageInvalid, 400, "'n' is not a number");
    return {}; // other parameters are ignored
}

/// Reports whether this is a sha512 digest. Such a digest is valid in a request, but this host finds no blob
/// by it.
bool is_sha512(std::string_view text) {
    constexpr std::string_view algorithm = "sha512:";
    return base::starts_with(text, algorithm) && text.size() == algorithm.size() + 128 &&
           base::is_hex(text.substr(algorithm.size()));
}

Parsed<void> parse_digest(RegistryRequest& request, std::string_view text) {
    request.hex = digest_hex(text);
    if (request.hex.empty() && !is_sha512(text))
        return refuse(Code::DigestInvalid, 400, "a digest must be sha256: and 64 lower-case hex digits");
    return {};
}

Parsed<void> parse_reference(RegistryRequest& request, std::string_view text) {
    if (text.find(':') != std::string_view::npos)
        return parse_digest(request, text);
    if (!is_tag(text))
        return refuse(Code::NameInvalid, 400, "a tag must be up to 128 letters, digits, '.', '_' and '-'");
    request.tag = text;
    return {};
}

Parsed<void> parse_endpoint(RegistryRequest& request, std::string_view verb, const std::string& object) {
    if (verb == "blobs") {
        request.endpoint = Endpoint::Blob;
        return parse_digest(request, object);
    }
    if (verb == "manifests") {
        request.endpoint = Endpoint::Manifest;
        return parse_reference(request, object);
    }
    if (verb == "referrers") {
        request.endpoint = Endpoint::Referrers;
        return parse_digest(request, object);
    }
    request.endpoint = Endpoint::Tags;
    if (verb != "tags" || object != "list")
        return refuse(Code::Unsupported, 404, "no such path in a registry");
    return {};
}

Parsed<void> parse_path(RegistryRequest& request, const std::string& path) {
    if (path == "/v2" || path == "/v2/")
        return {};
    if (path == "/metrics") {
        request.endpoint = Endpoint::Metrics;
        return {};
    }
    constexpr std::string_view prefix = "/v2/";
    // Searches from the end of the path, because a component of the repository may itself be "blobs".
    const auto object = path.rfind('/');
    const auto verb =
        object == std::string::npos || object == 0 ? std::string::npos : path.rfind('/', object - 1);
    if (!base::starts_with(path, prefix) || verb == std::string::npos || verb <= prefix.size())
        return refuse(Code::Unsupported, 404, "no such path in a registry");
    request.name = path.substr(prefix.size(), verb - prefix.size());
    return parse_endpoint(request, std::string_view(path).substr(verb + 1, object - verb - 1),
                          path.substr(object + 1));
}

/// Returns the path and query of a target in the form "http://HOST/PATH", which RFC 9112 requires servers to
/// accept; other targets unchanged.
std::string_view without_authority(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"})
        if (base::starts_with(target, scheme)) {
            const auto path = target.find_first_of("/?", scheme.size());
            return path == std::string_view::npos ? "/" : target.substr(path);
        }
    return target;
}

std::optional<std::uint64_t> parse_position(std::string_view text) {
    return text.empty() ? std::nullopt : base::parse_uint(text);
}

} // namespace

Parsed<RegistryRequest> parse_registry_request(std::string_view target) {
    if (target.size() > longest_target)
        return refuse(Code::Unsupported, 414, "the request target is longer than 4096 characters");
    target = without_authority(target);
    const auto question = target.find('?');
    const auto path = unescape(target.substr(0, question));
    if (!path)
        return refuse(Code::Unsupported, 400, "invalid percent-encoding in the path");
    RegistryRequest request;
    if (question != std::string_view::npos)
        for (const std::string& pair : base::split(target.substr(question + 1), '&'))
            if (auto taken = parse_parameter(request, pair); !taken)
                return tl::unexpected<RegistryError>(std::move(taken).error());
    if (auto taken = parse_path(request, *path); !taken)
        return tl::unexpected<RegistryError>(std::move(taken).error());
    return request;
}

std::string_view word_of(Code code) noexcept {
    constexpr std::array words{
        std::pair(Code::BlobUnknown, std::string_view("BLOB_UNKNOWN")),
        std::pair(Code::Denied, std::string_view("DENIED")),
        std::pair(Code::DigestInvalid, std::string_view("DIGEST_INVALID")),
        std::pair(Code::ManifestUnknown, std::string_view("MANIFEST_UNKNOWN")),
        std::pair(Code::NameInvalid, std::string_view("NAME_INVALID")),
        std::pair(Code::NameUnknown, std::string_view("NAME_UNKNOWN")),
        std::pair(Code::PageInvalid, std::string_view("PAGINATION_NUMBER_INVALID")),
        std::pair(Code::RangeInvalid, std::string_view("RANGE_INVALID")),
        std::pair(Code::Unsupported, std::string_view("UNSUPPORTED")),
        std::pair(Code::Unknown, std::string_view("UNKNOWN")),
    };
    const auto* word =
        std::find_if(words.begin(), words.end(), [&](const auto& entry) { return entry.first == code; });
    return word == words.end() ? "UNKNOWN" : word->second;
}

RangeRequest parse_range(std::string_view header, std::uint64_t size) {
    using Kind = RangeRequest::Kind;
    constexpr std::string_view unit = "bytes=";
    const std::string_view text = base::trim(header);
    const auto dash = text.find('-');
    if (!base::starts_with(text, unit) || dash == std::string_view::npos ||
        text.find(',') != std::string_view::npos)
        return {};
    const std::string_view from = base::trim(text.substr(unit.size(), dash - unit.size()));
    const std::string_view to = base::trim(text.substr(dash + 1));
    const auto first = parse_position(from);
    const auto last = parse_position(to);
    if ((!from.empty() && !first) || (!to.empty() && !last) || (from.empty() && to.empty()) ||
        (first && last && *last < *first))
        return {};
    if (from.empty()) { // a suffix range: the last bytes
        if (*last == 0 || size == 0)
            return {Kind::Outside, {}};
        const std::uint64_t length = std::min(*last, size);
        return {Kind::Part, {size - length, length}};
    }
    if (*first >= size)
        return {Kind::Outside, {}};
    return {Kind::Part, {*first, (last ? std::min(*last, size - 1) : size - 1) - *first + 1}};
}

bool names_etag(std::string_view header, std::string_view etag) {
    for (const std::string& part : base::split(header, ',')) {
        std::string_view one = base::trim(part);
        if (base::starts_with(one, "W/"))
            one.remove_prefix(2);
        if (one == etag || one == "*")
            return true;
    }
    return false;
}

std::string registry_of_component(std::string_view component) {
    std::string registry(component);
    const auto mark = registry.rfind('_');
    if (mark != std::string::npos && base::parse_uint(component.substr(mark + 1)))
        registry[mark] = ':';
    return registry;
}

std::string printable(std::string_view text) {
    std::string out(text.substr(0, longest_printed));
    for (char& c : out)
        if (c < ' ' || c > '~' || c == '\'')
            c = '?';
    return out + (text.size() > longest_printed ? "…" : "");
}

} // namespace gpuhost::images
