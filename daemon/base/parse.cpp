// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace gpuhost::base {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::optional<std::uint64_t> unit_in_ms(std::string_view unit) {
    struct Unit {
        std::string_view name;
        std::uint64_t ms;
    };
    static constexpr std::array units{
        Unit{"", 1000},         Unit{"ms", 1},           Unit{"msec", 1},
        Unit{"s", 1000},        Unit{"sec", 1000},       Unit{"second", 1000},
        Unit{"seconds", 1000},  Unit{"m", 60'000},       Unit{"min", 60'000},
        Unit{"minute", 60'000}, Unit{"minutes", 60'000}, Unit{"h", 3'600'000},
        Unit{"hr", 3'600'000},  Unit{"hour", 3'600'000}, Unit{"hours", 3'600'000},
        Unit{"d", 86'400'000},  Unit{"day", 86'400'000}, Unit{"days", 86'400'000},
    };
    const auto it = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == unit; });
    if (it == units.end())
        return std::nullopt;
    return it->ms;
}

} // namespace

std::optional<std::uint64_t> parse_uint(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return value;
}

std::optional<bool> parse_bool(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    for (const std::string_view yes : {"1", "yes", "y", "true", "t", "on"})
        if (lower == yes)
            return true;
    for (const std::string_view no : {"0", "no", "n", "false", "f", "off"})
        if (lower == no)
            return false;
    return std::nullopt;
}

std::optional<std::chrono::milliseconds> parse_span(std::string_view text) {
    constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    text = trim(text);
    if (text.empty())
        return std::nullopt;
    std::uint64_t total = 0;
    while (!text.empty()) {
        const auto digits = std::find_if_not(text.begin(), text.end(), is_digit) - text.begin();
        const auto number = parse_uint(text.substr(0, static_cast<std::size_t>(digits)));
        text.remove_prefix(static_cast<std::size_t>(digits));
        text = trim(text);
        const auto letters = std::find_if(text.begin(), text.end(),
                                          [](char c) { return is_digit(c) || c == ' ' || c == '\t'; }) -
                             text.begin();
        const auto unit = unit_in_ms(text.substr(0, static_cast<std::size_t>(letters)));
        text.remove_prefix(static_cast<std::size_t>(letters));
        text = trim(text);
        if (!number || !unit || *number > (limit - total) / *unit)
            return std::nullopt;
        total += *number * *unit;
    }
    return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    constexpr std::string_view units = "KMGT"; // each 1024 times the previous one
    text = trim(text);
    const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
    const unsigned shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<unsigned>(unit) + 1);
    if (shift != 0)
        text.remove_suffix(1);
    const auto number = parse_uint(text);
    if (!number || *number > std::numeric_limits<std::uint64_t>::max() >> shift)
        return std::nullopt;
    return *number << shift;
}

bool is_utf8(std::string_view text) {
    constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000}; // shorter forms are invalid
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (length == 0 || lead > 0xf4 || length > text.size() - i)
            return false;
        char32_t code = length == 1 ? lead : lead & (0xffU >> (length + 1));
        for (std::size_t k = 1; k < length; ++k) {
            const auto byte = static_cast<unsigned char>(text[i + k]);
            if ((byte & 0xc0U) != 0x80)
                return false;
            code = (code << 6U) | (byte & 0x3fU);
        }
        if (code < least.at(length) || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
        i += length;
    }
    return true;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string last_line(std::string_view text) {
    text = trim(text);
    return std::string(text.substr(text.rfind('\n') + 1));
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    for (;;) {
        const auto first = text.find_first_not_of(blanks);
        if (first == std::string_view::npos)
            return words;
        text.remove_prefix(first);
        const auto end = std::min(text.find_first_of(blanks), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
    std::string text;
    for (const std::string& part : parts) {
        if (!text.empty())
            text += separator;
        text += part;
    }
    return text;
}

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.starts_with(prefix);
}

bool ends_with(std::string_view text, std::string_view suffix) {
    return text.ends_with(suffix);
}

int compare_numbers(std::string_view a, std::string_view b) {
    const auto left = split(a, '.');
    const auto right = split(b, '.');
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const auto x = i < left.size() ? parse_uint(left[i]).value_or(0) : 0;
        const auto y = i < right.size() ? parse_uint(right[i]).value_or(0) : 0;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

bool is_driver_version(std::string_view text) {
    const auto parts = split(text, '.');
    if (text.size() > 32 || parts.size() < 2 || parts.size() > 4)
        return false;
    return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
        return !part.empty() && part.size() <= 6 && std::all_of(part.begin(), part.end(), is_digit);
    });
}

bool is_toolkit_version(std::string_view text) {
    constexpr std::string_view candidate = "~rc.";
    const auto tilde = text.find('~');
    const std::string_view number = text.substr(0, tilde);
    if (!is_driver_version(number) || tilde == std::string_view::npos)
        return is_driver_version(number);
    const std::string_view rest = text.substr(tilde);
    return starts_with(rest, candidate) && rest.size() > candidate.size() &&
           rest.size() <= candidate.size() + 3 &&
           std::all_of(rest.begin() + candidate.size(), rest.end(), is_digit);
}

bool is_kernel_release(std::string_view text) {
    const auto allowed = [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
               c == '_' || c == '+' || c == '~';
    };
    return !text.empty() && text.size() <= 64 && is_digit(text.front()) &&
           std::all_of(text.begin(), text.end(), allowed);
}

bool is_package_file(std::string_view name) {
    return ends_with(name, ".deb") || ends_with(name, ".rpm") || ends_with(name, ".run") ||
           ends_with(name, ".tar.zst");
}

bool is_module_file(std::string_view name) {
    return ends_with(name, ".ko") || ends_with(name, ".ko.gz") || ends_with(name, ".ko.xz") ||
           ends_with(name, ".ko.zst");
}

} // namespace gpuhost::base
