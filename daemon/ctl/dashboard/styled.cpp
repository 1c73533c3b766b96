// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/styled.hpp"

#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::ctl::dashboard {
namespace {

/// Returns the style of "1;31", the parameters of an escape sequence.
Style style_of(std::string_view parameters) {
    using Code = std::pair<std::string_view, Style>;
    static constexpr std::array codes{Code{"1", Style::Bold}, Code{"2", Style::Dim}, Code{"32", Style::Good},
                                      Code{"33", Style::Warn}, Code{"1;31", Style::Bad}};
    const auto* const found =
        std::find_if(codes.begin(), codes.end(), [&](const Code& code) { return code.first == parameters; });
    return found == codes.end() ? Style::Plain : found->second;
}

void append(Line& line, std::string_view text, Style style) {
    if (!text.empty())
        line.push_back({printable(text), style});
}

/// `style` is the style at the start of the line; it is set to the one at the end.
Line styled_line(std::string_view text, Style& style) {
    Line line;
    while (!text.empty()) {
        const std::size_t escape = std::min(text.find("\033["), text.size());
        append(line, text.substr(0, escape), style);
        text.remove_prefix(escape);
        const std::size_t end = text.find('m');
        if (text.empty() || end == std::string_view::npos) {
            append(line, text, style);
            break;
        }
        style = style_of(text.substr(2, end - 2));
        text.remove_prefix(end + 1);
    }
    return line;
}

char ascii_of(std::string_view glyph) {
    using Pair = std::pair<std::string_view, char>;
    static constexpr std::array pairs{Pair{"─", '-'}, Pair{"│", '|'}, Pair{"┬", '+'},
                                      Pair{"┴", '+'}, Pair{"┼", '+'}, Pair{"→", '>'},
                                      Pair{"…", '~'}, Pair{"↑", '^'}, Pair{"↓", 'v'}};
    const auto* const found =
        std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.first == glyph; });
    return found == pairs.end() ? '?' : found->second;
}

} // namespace

std::vector<Line> styled_lines(std::string_view text) {
    std::vector<Line> lines;
    Style style = Style::Plain;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(styled_line(text.substr(0, end), style));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string painted(const Screen& screen, const Line& line) {
    std::string text;
    for (const Span& span : line)
        text += screen.paint(span.style, span.text);
    return text;
}

std::size_t width_of(const Line& line) {
    std::size_t width = 0;
    for (const Span& span : line)
        width += text_width(span.text);
    return width;
}

Line fitted(const Line& line, std::size_t columns) {
    Line out;
    std::size_t left = columns;
    const bool is_cut = width_of(line) > columns;
    for (const Span& span : line) {
        const std::size_t width = text_width(span.text);
        if (is_cut && width >= left) {
            // One column more than fits makes elide() mark the cut also where a span ends at the edge.
            out.push_back({elide(span.text + "  ", left), span.style, span.reverse});
            left -= std::min(left, text_width(out.back().text));
            break;
        }
        out.push_back(span);
        left -= width;
    }
    if (left > 0)
        out.push_back({std::string(left, ' '), Style::Plain, false});
    return out;
}

std::string in_ascii(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        std::size_t bytes = 1;
        while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80)
            ++bytes;
        const std::string_view glyph = text.substr(0, bytes);
        if (bytes == 1 && static_cast<unsigned char>(text[0]) < 0x80)
            out += text[0];
        else
            out += std::string(text_width(glyph), ascii_of(glyph));
        text.remove_prefix(bytes);
    }
    return out;
}

} // namespace gpuhost::ctl::dashboard
