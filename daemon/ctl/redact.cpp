// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/redact.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpuhost::ctl {

using base::Json;

namespace {

constexpr std::string_view word_ends = " \t\"'<>(),;";

/// "HTTP_Proxy-Password" → "httpproxypassword"
std::string plain(std::string_view name) {
    std::string made;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return made;
}

/// Names of files that hold a secret ("TokenFile") tell none.
bool is_secret(std::string_view name) {
    constexpr std::array whole{"auth", "pin", "pinvalue", "cookie"};
    constexpr std::array ends{"password",   "passwd",      "passphrase", "secret",
                              "token",      "apikey",      "accesskey",  "authorization",
                              "credential", "credentials", "keydata",    "privatekey"};
    const std::string key = plain(name);
    return std::any_of(whole.begin(), whole.end(), [&](std::string_view word) { return key == word; }) ||
           std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view word) { return base::ends_with(key, word); });
}

/// The name in front of the ':' or '=' at `at`, which may be quoted.
std::string_view name_before(std::string_view line, std::size_t at) {
    constexpr std::string_view around = " \t\"'\\";
    while (at > 0 && around.find(line[at - 1]) != std::string_view::npos)
        --at;
    std::size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                         line[begin - 1] == '_' || line[begin - 1] == '-'))
        --begin;
    return line.substr(begin, at - begin);
}

std::string mask_values(const std::string& line) {
    for (auto at = line.find_first_of(":="); at != std::string::npos; at = line.find_first_of(":=", at + 1)) {
        const auto value = line.find_first_not_of(" \t", at + 1);
        if (value != std::string::npos && is_secret(name_before(line, at)))
            return line.substr(0, value) + std::string(mask);
    }
    return line;
}

/// A password may have any character that its writer forgot to encode, so up to the last '@' of the word.
std::string mask_urls(std::string line) {
    for (auto at = line.find("://"); at != std::string::npos; at = line.find("://", at + 3)) {
        const auto begin = at + 3;
        const auto end = std::min(line.find_first_of(" \t\"'<>", begin), line.size());
        const auto sign = line.rfind('@', end == 0 ? 0 : end - 1);
        if (sign != std::string::npos && sign >= begin)
            line.replace(begin, sign - begin, mask);
    }
    return line;
}

/// Of RFC 6750 and RFC 7617, and RFC 7519, whose first part is "{\"" in base64.
std::string mask_tokens(std::string line) {
    std::string before;
    for (std::size_t at = line.find_first_not_of(word_ends); at != std::string::npos;) {
        const auto end = std::min(line.find_first_of(word_ends, at), line.size());
        const std::string word = line.substr(at, end - at);
        const bool is_jwt = base::starts_with(word, "eyJ") && word.find('.') != std::string::npos;
        const bool is_credential = (before == "bearer" || before == "basic") && word.size() > 7;
        before = plain(word);
        std::size_t next = end;
        if (is_jwt || is_credential) {
            line.replace(at, word.size(), mask);
            next = at + mask.size();
        }
        at = line.find_first_not_of(word_ends, next);
    }
    return line;
}

std::string mask_line(const std::string& line) {
    return mask_tokens(mask_values(mask_urls(line)));
}

} // namespace

std::string redact(std::string_view text) {
    std::string made;
    bool in_key = false;  // of PEM, up to its end
    bool goes_on = false; // a masked line that a backslash ends
    while (!text.empty()) {
        const std::string line(text.substr(0, text.find('\n')));
        const bool is_last = line.size() == text.size();
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto begin = line.find("-----BEGIN ");
        const auto of_key = line.find("PRIVATE KEY-----");
        if (begin != std::string::npos && of_key != std::string::npos && of_key > begin) {
            made += mask_line(line.substr(0, begin)) + std::string(mask);
            in_key = line.find("-----END ", begin) == std::string::npos;
        } else if (in_key) {
            in_key = line.find("-----END ") == std::string::npos;
            continue;
        } else if (goes_on) {
            goes_on = base::ends_with(line, "\\");
            continue;
        } else {
            const std::string masked = mask_line(line);
            goes_on = masked != line && base::ends_with(line, "\\");
            made += masked;
        }
        made += is_last ? "" : "\n";
    }
    return made;
}

Json redact_document(const Json& document) {
    if (document.is_string())
        return redact(document.get_ref<const std::string&>());
    Json made = document;
    if (document.is_object())
        for (auto& [key, value] : made.items())
            value = is_secret(key) && (value.is_string() || value.is_number()) ? Json(mask)
                                                                               : redact_document(Json(value));
    if (document.is_array())
        for (Json& value : made)
            value = redact_document(Json(value));
    return made;
}

} // namespace gpuhost::ctl
