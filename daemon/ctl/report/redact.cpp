// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/redact.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr auto npos = std::string_view::npos;

/// Returns the end of the lines after `line` that have only base64.
std::size_t end_of_base64(const std::string& text, std::size_t line) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n";
    const std::size_t other = std::min(text.find_first_not_of(digits, line), text.size());
    return other == text.size() ? other : std::max(line, text.rfind('\n', other));
}

/// Masks each private key from its BEGIN line to its END line, with any other lines in between. If no END
/// line is near, the key was cut: masks the base64 text after the BEGIN line. If, in this case, other text
/// follows on the BEGIN line itself, this line only mentions a key: masks only the rest of the line.
void mask_keys(std::string& text) {
    constexpr std::size_t near = 65536;
    constexpr std::string_view last = "PRIVATE KEY-----";
    for (auto at = text.find("-----BEGIN "); at != npos; at = text.find("-----BEGIN ", at + 1)) {
        const std::size_t line = std::min(text.find('\n', at), text.size());
        if (text.find("PRIVATE KEY", at) >= line)
            continue;
        std::size_t end = text.find("-----END ", line);
        while (end != npos && text.find(last, end) >= std::min(text.find('\n', end), text.size()))
            end = text.find("-----END ", end + 1);
        if (end < at + near)
            end = std::min(text.find('\n', end), text.size());
        else
            end = base::ends_with(std::string_view(text).substr(0, line), last) ? end_of_base64(text, line)
                                                                                : line;
        text.replace(at, end - at, mask);
    }
}

/// Returns the offset of the first secret in the line, or its size. Compares in small letters.
std::size_t find_secret(std::string line) {
    constexpr std::array schemes{"bearer ", "basic "};
    constexpr std::array names{"password", "passwd",  "passphrase", "secret",    "token",
                               "apikey",   "api-key", "api_key",    "pin-value", "authorization"};
    std::transform(line.begin(), line.end(), line.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::size_t first = line.size();
    for (const std::string_view scheme : schemes)
        if (const auto at = line.find(scheme); at != npos)
            first = std::min(first, at + scheme.size());
    for (const std::string_view name : names)
        for (auto at = line.find(name); at < first; at = line.find(name, at + 1)) {
            const auto end = line.find_first_not_of("s \t\"'\\", at + name.size());
            if (end != npos && (line[end] == ':' || line[end] == '='))
                first = std::min(first, end + 1);
        }
    return first;
}

/// Masks the user and the password of each URL: from "://" to the last '@' in the same word. An '@' before
/// the digest of an image does not count.
std::string mask_credentials(std::string line) {
    for (auto at = line.find("://"); at != npos; at = line.find("://", at + 3)) {
        auto sign = line.rfind('@', line.find_first_of(" \t\"'<>`", at));
        while (sign != npos && line.compare(sign, 8, "@sha256:") == 0)
            sign = sign == 0 ? npos : line.rfind('@', sign - 1);
        if (sign != npos && sign > at)
            line.replace(at + 3, sign - at - 3, mask);
    }
    return line;
}

std::string masked_line(const std::string& line) {
    const std::size_t secret = find_secret(line);
    return mask_credentials(line.substr(0, secret)).append(secret < line.size() ? mask : "");
}

} // namespace

std::string redact(std::string text) {
    mask_keys(text);
    std::string made;
    for (const std::string& line : base::split(text, '\n'))
        made += masked_line(line) + '\n';
    made.pop_back();
    return made;
}

Json redact_document(Json document) {
    if (document.is_string())
        return redact(document.get<std::string>());
    if (document.is_structured())
        for (Json& value : document)
            value = redact_document(std::move(value));
    return document;
}

} // namespace gpuhost::ctl
