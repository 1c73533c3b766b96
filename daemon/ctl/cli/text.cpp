// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/text.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace gpuhost::ctl {
namespace {

struct Glyph {
    char32_t code = 0;
    std::size_t bytes = 1;
    std::size_t columns = 1;
};

struct Range {
    char32_t first;
    char32_t last;
};

// Ranges of characters that may occur in names of units and files. wcwidth(3) is not used, because it needs a
// locale, which services often lack.
constexpr std::array zero_width{Range{0x300, 0x36f}, Range{0x200b, 0x200f}, Range{0x20d0, 0x20ff},
                                Range{0xfe00, 0xfe0f}, Range{0xfeff, 0xfeff}};
constexpr std::array double_width{Range{0x1100, 0x115f},  Range{0x2e80, 0xa4cf},   Range{0xac00, 0xd7a3},
                                  Range{0xf900, 0xfaff},  Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},
                                  Range{0xffe0, 0xffe6},  Range{0x1f300, 0x1f64f}, Range{0x1f900, 0x1f9ff},
                                  Range{0x20000, 0x3fffd}};

template <std::size_t N>
bool contains(const std::array<Range, N>& ranges, char32_t code) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Range& range) { return code >= range.first && code <= range.last; });
}

std::size_t columns_of(char32_t code) {
    if (contains(zero_width, code))
        return 0;
    return contains(double_width, code) ? 2 : 1;
}

/// Decodes the first character of a text that is not empty. An invalid byte counts as one character.
Glyph first_glyph(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    if (length == 1 || length > text.size() || !base::is_utf8(text.substr(0, length)))
        return {lead, 1, 1};
    char32_t code = lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i)
        code = (code << 6U) | (byte(i) & 0x3fU);
    return {code, length, columns_of(code)};
}

std::string fixed(double value, const char* unit) {
    std::array<char, 48> buffer{};
    const int n =
        std::snprintf(buffer.data(), buffer.size(), value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
    return std::string(buffer.data(), static_cast<std::size_t>(std::max(n, 0)));
}

} // namespace

std::size_t text_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        width += glyph.columns;
        text.remove_prefix(glyph.bytes);
    }
    return width;
}

std::string pad_right(std::string_view text, std::size_t width) {
    const std::size_t has = text_width(text);
    return std::string(text) + std::string(has < width ? width - has : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
    const std::size_t has = text_width(text);
    return std::string(has < width ? width - has : 0, ' ') + std::string(text);
}

std::string elide(std::string_view text, std::size_t width) {
    if (text_width(text) <= width)
        return std::string(text);
    std::string kept;
    for (std::size_t used = 1; !text.empty();) { // 1: for the ellipsis
        const Glyph glyph = first_glyph(text);
        used += glyph.columns;
        if (used > width)
            break;
        kept += text.substr(0, glyph.bytes);
        text.remove_prefix(glyph.bytes);
    }
    return width == 0 ? "" : kept + "…";
}

std::string printable(std::string_view text) {
    std::string clean;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        const bool control = glyph.code < 0x20 || (glyph.code >= 0x7f && glyph.code < 0xa0);
        const bool invalid = glyph.bytes == 1 && glyph.code >= 0x80;
        // Bidirectional controls of Unicode make a terminal show the characters of a line in another order.
        const bool reorders = (glyph.code >= 0x202a && glyph.code <= 0x202e) ||
                              (glyph.code >= 0x2066 && glyph.code <= 0x2069) || glyph.code == 0x200e ||
                              glyph.code == 0x200f || glyph.code == 0x061c;
        if (control || invalid || reorders)
            clean += glyph.code == '\n' || glyph.code == '\t' ? " " : "?";
        else
            clean += text.substr(0, glyph.bytes);
        text.remove_prefix(glyph.bytes);
    }
    return clean;
}

std::string shell_quoted(std::string_view word) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=@%+,";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos)
        return std::string(word);
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string human_bytes(std::uint64_t bytes) {
    static constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024)
        return std::to_string(bytes) + " B";
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit)
        value /= 1024;
    return fixed(value, units[unit]);
}

std::string human_span(std::uint64_t us) {
    const std::uint64_t s = us / 1'000'000;
    if (s < 60)
        return fixed(static_cast<double>(us) / 1e6, "s");
    const auto two = [](std::uint64_t whole, const char* unit, std::uint64_t rest, const char* rest_unit) {
        std::string text = std::to_string(whole) + " " + unit;
        return rest == 0 ? text : text + " " + std::to_string(rest) + " " + rest_unit;
    };
    if (s < 3600)
        return two(s / 60, "min", s % 60, "s");
    if (s < 86400)
        return two(s / 3600, "h", s / 60 % 60, "min");
    return two(s / 86400, s < 2ULL * 86400 ? "day" : "days", s / 3600 % 24, "h");
}

std::string short_span(std::uint64_t seconds) {
    if (seconds < 120)
        return std::to_string(seconds) + "s";
    if (seconds < 2ULL * 3600)
        return std::to_string(seconds / 60) + "m";
    return seconds < 2ULL * 86400 ? std::to_string(seconds / 3600) + "h"
                                  : std::to_string(seconds / 86400) + "d";
}

std::string human_time(std::uint64_t us) {
    const auto seconds = static_cast<std::time_t>(us / 1'000'000);
    std::tm parts{};
    std::array<char, 64> buffer{};
    if (::localtime_r(&seconds, &parts) == nullptr)
        return "";
    return std::string(buffer.data(),
                       std::strftime(buffer.data(), buffer.size(), "%a %Y-%m-%d %H:%M:%S %Z", &parts));
}

std::string human_ago(std::uint64_t then_us, std::uint64_t now_us) {
    constexpr std::uint64_t second = 1'000'000;
    if (then_us + 2 * second > now_us)
        return "just now";
    return human_span((now_us - then_us) / second * second) + " ago";
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
    return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

} // namespace gpuhost::ctl
