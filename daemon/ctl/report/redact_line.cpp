// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/report/redact_line.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/report/redact.hpp"
#include "daemon/ctl/report/redact_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace gpuhost::ctl {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view token_ends = " \t\"'<>(),;";
constexpr std::string_view argument_ends = " \t\"'`<>(),;[]{}\\";

bool is_alnum(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_of_name(char c) {
    return is_alnum(c) || c == '_' || c == '-';
}
std::size_t end_of(std::string_view line, std::string_view ends, std::size_t at) {
    return std::min(line.find_first_of(ends, at), line.size());
}

/// Returns the name before the ':' or '=' at the offset `at`, without quotes.
std::string_view name_before(std::string_view line, std::size_t at) {
    constexpr std::string_view around = " \t\"'\\";
    while (at > 0 && around.find(line[at - 1]) != npos)
        --at;
    std::size_t begin = at;
    while (begin > 0 && is_of_name(line[begin - 1]))
        --begin;
    return line.substr(begin, at - begin);
}

/// Returns true for the signature in a URL such as "https://blobs/x?sig=…". A "sig" outside of a query is not
/// a secret.
bool is_signed_query(std::string_view line, std::string_view name) {
    const auto at = static_cast<std::size_t>(name.data() - line.data());
    const std::string key = plain_name(name);
    return (key == "sig" || key == "signature") && at > 0 && (line[at - 1] == '?' || line[at - 1] == '&');
}

/// Returns true if the value after the ':' at `at` is the name of a secret in a pair, as in `name:
/// "DB_PASSWORD"`.
bool is_pair_of_secret(std::string_view line, std::size_t at, std::string_view name) {
    const std::string key = plain_name(name);
    const auto begin = line.find_first_not_of(" \t\"'\\", at + 1);
    if ((key != "name" && key != "key") || begin == npos)
        return false;
    const auto end =
        std::find_if_not(line.begin() + static_cast<std::ptrdiff_t>(begin), line.end(), is_of_name);
    return is_secret_name(line.substr(begin, static_cast<std::size_t>(end - line.begin()) - begin));
}

std::size_t find_by_name(std::string_view line) {
    bool is_pair = false;
    for (auto at = line.find_first_of(":="); at != npos; at = line.find_first_of(":=", at + 1)) {
        const std::string_view name = name_before(line, at);
        if (is_secret_name(name) || is_signed_query(line, name) || (is_pair && plain_name(name) == "value"))
            return std::min(line.find_first_not_of(" \t", at + 1), line.size());
        is_pair = is_pair || is_pair_of_secret(line, at, name);
    }
    return npos;
}

std::size_t find_by_option(std::string_view line) {
    for (auto at = line.find_first_not_of(argument_ends); at != npos;) {
        const auto end = end_of(line, argument_ends, at);
        const auto next = line.find_first_not_of(argument_ends, end);
        if (next != npos && is_secret_option(line.substr(at, end - at)) &&
            !base::starts_with(line.substr(next), "--"))
            return next;
        at = next;
    }
    return npos;
}

/// Returns the offset of the last '@' that does not start the digest of an image; npos: none.
std::size_t find_sign(std::string_view word) {
    auto sign = word.rfind('@');
    while (sign != npos && (base::starts_with(word.substr(sign + 1), "sha256:") ||
                            base::starts_with(word.substr(sign + 1), "sha512:")))
        sign = sign == 0 ? npos : word.rfind('@', sign - 1);
    return sign;
}

/// Returns true for a unit in the format of /proc/PID/cgroup: "0::/system.slice/a@1.service".
bool is_unit(std::string_view word, std::size_t sign) {
    constexpr std::array kinds{".service", ".socket", ".slice", ".scope", ".mount", ".timer", ".target"};
    return word.find(":/") < sign &&
           std::any_of(kinds.begin(), kinds.end(), [&](auto kind) { return base::ends_with(word, kind); });
}

/// Masks the credentials of a word, up to its last '@': a password may contain any character, if it is not
/// encoded.
std::string mask_word(std::string word) {
    const auto scheme = word.find("://");
    if (scheme == npos) {
        const auto sign = find_sign(word);
        const auto colon = word.find(':');
        if (sign == npos || colon >= sign || is_unit(word, sign))
            return word;
        const auto equals = word.rfind('=', colon);
        const std::size_t begin = equals == npos ? 0 : equals + 1;
        return word.replace(begin, sign - begin, mask);
    }
    for (auto at = scheme; at != npos; at = word.find("://", at + 3)) {
        const auto sign = find_sign(word);
        if (sign != npos && sign >= at + 3)
            word.replace(at + 3, sign - at - 3, mask);
    }
    return word;
}

bool is_jwt_at(std::string_view line, std::size_t at, std::size_t end) {
    return (at == 0 || !is_alnum(line[at - 1])) && line.substr(at, end - at).find('.') != npos;
}

std::string mask_web_tokens(std::string line) {
    for (auto at = line.find("eyJ"); at != npos; at = line.find("eyJ", at + 1)) {
        std::size_t end = at;
        while (end < line.size() && (is_of_name(line[end]) || line[end] == '.' || line[end] == '='))
            ++end;
        if (is_jwt_at(line, at, end))
            line.replace(at, end - at, mask);
    }
    return line;
}

} // namespace

std::size_t find_secret_value(std::string_view line) {
    return std::min(find_by_name(line), find_by_option(line));
}

bool names_secret(std::string_view line) {
    const auto at = line.find_first_of(":=");
    return at != npos && is_pair_of_secret(line, at, name_before(line, at));
}

bool is_lone_option(std::string_view line) {
    const auto begin = line.find_first_not_of(argument_ends);
    if (begin == npos)
        return false;
    const std::size_t at = base::starts_with(line.substr(begin), "- ") // a YAML list item
                               ? std::min(line.find_first_not_of(argument_ends, begin + 1), line.size())
                               : begin;
    const auto end = end_of(line, argument_ends, at);
    return is_secret_option(line.substr(at, end - at)) && line.find_first_not_of(argument_ends, end) == npos;
}

bool ends_in_option(std::string_view line) {
    const auto last = line.find_last_not_of(argument_ends);
    if (!base::ends_with(line, "\\") || last == npos)
        return false;
    const auto before = line.find_last_of(argument_ends, last);
    const std::size_t begin = before == npos ? 0 : before + 1;
    return is_secret_option(line.substr(begin, last + 1 - begin));
}

std::string mask_credentials(std::string line) {
    constexpr std::string_view ends = " \t\"'<>`";
    for (auto at = line.find_first_not_of(ends); at != npos;) {
        const auto end = end_of(line, ends, at);
        const std::string masked = mask_word(line.substr(at, end - at));
        line.replace(at, end - at, masked);
        at = line.find_first_not_of(ends, at + masked.size());
    }
    return line;
}

std::string mask_tokens(std::string line) {
    line = mask_web_tokens(std::move(line));
    std::string before;
    for (std::size_t at = line.find_first_not_of(token_ends); at != npos;) {
        const auto end = end_of(line, token_ends, at);
        const std::string word = line.substr(at, end - at);
        const bool is_credential =
            (before == "bearer" || before == "basic") && word.size() > 7 && word != mask;
        before = plain_name(word);
        if (is_credential)
            line.replace(at, word.size(), mask);
        at = line.find_first_not_of(token_ends, is_credential ? at + mask.size() : end);
    }
    return line;
}

} // namespace gpuhost::ctl
