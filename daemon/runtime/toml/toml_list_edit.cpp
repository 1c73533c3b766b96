// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toml/toml_list_edit.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <optional>

namespace gpuhost::runtime {

namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view between(std::string_view text, std::size_t begin, std::size_t end) {
    return text.substr(begin, end - begin);
}

std::size_t after_blanks(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(blanks, at), text.size());
}

std::size_t before_blanks(std::string_view text, std::size_t at) {
    const std::size_t last = text.substr(0, at).find_last_not_of(blanks);
    return last == std::string_view::npos ? 0 : last + 1;
}

/// Returns the offset of the first `wanted` between `at` and `end` that is not in a comment. The range must
/// not contain strings.
std::optional<std::size_t> find_mark(std::string_view text, std::size_t at, std::size_t end, char wanted) {
    for (; at < end; ++at) {
        if (text[at] == wanted)
            return at;
        if (text[at] == '#')
            at = std::min(text.find('\n', at), end) - 1;
    }
    return std::nullopt;
}

/// A list and the positions of its commas. Each element but the last has one; the last may have one.
struct List {
    std::string_view text;
    std::size_t open;
    std::size_t close;
    const std::vector<TextRange>& elements;
    std::vector<std::optional<std::size_t>> commas;
};

List list_at(std::string_view text, const TomlPlace& place) {
    List list{text, place.value.begin, place.value.end - 1, place.elements, {}};
    for (std::size_t i = 0; i < place.elements.size(); ++i) {
        const bool is_last = i + 1 == place.elements.size();
        const std::size_t end = is_last ? list.close : place.elements[i + 1].begin;
        list.commas.push_back(find_mark(text, place.elements[i].end, end, ','));
    }
    return list;
}

bool begins_line(const List& list, const TextRange& element) {
    const std::size_t begin = before_blanks(list.text, element.begin);
    return begin > list.open && list.text[begin - 1] == '\n';
}

/// Adds the ranges to remove for element `i` and its comma: whole lines if these contain nothing else.
/// Otherwise the blanks between the other elements stay unchanged.
void cut_element(const List& list, std::size_t i, bool is_first, std::vector<TextRange>& cuts) {
    const TextRange element = list.elements[i];
    const auto comma = list.commas[i];
    const bool is_joined = comma && after_blanks(list.text, element.end) == *comma;
    const std::size_t end = is_joined ? *comma + 1 : element.end;
    const bool is_line = begins_line(list, element);
    if (is_line && (is_joined || !comma)) {
        const std::size_t next = next_line(list.text, end);
        if (next <= list.close && is_blank(between(list.text, end, next))) {
            cuts.push_back({before_blanks(list.text, element.begin), next});
            return;
        }
    }
    if (is_first || is_line)
        cuts.push_back({element.begin, after_blanks(list.text, end)});
    else
        cuts.push_back({before_blanks(list.text, element.begin), end});
    if (comma && !is_joined)
        cuts.push_back({*comma, *comma + 1});
}

/// Returns the text without `cuts`, which may be unordered and overlap.
std::string without(std::string_view text, std::vector<TextRange> cuts) {
    std::sort(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::string left;
    std::size_t at = 0;
    for (const TextRange& cut : cuts) {
        if (cut.begin > at)
            left += between(text, at, cut.begin);
        at = std::max(at, cut.end);
    }
    return left += text.substr(at);
}

std::string inserted(std::string_view text, std::size_t at, std::string_view what) {
    return std::string(text.substr(0, at)).append(what).append(text.substr(at));
}

/// Fills an empty list: on one line between its brackets, or on separate lines before the closing bracket.
std::string fill(const List& list, const std::vector<std::string>& values) {
    const std::string_view inside = between(list.text, list.open + 1, list.close);
    if (inside.find('\n') == std::string_view::npos)
        return std::string(list.text.substr(0, list.open + 1)) + base::join(values, ", ") +
               std::string(list.text.substr(list.close));
    const std::size_t line = line_begin(list.text, list.close);
    const std::string indentation(between(list.text, line, list.close));
    std::string lines;
    for (const std::string& value : values)
        lines += indentation + "  " + value + "," + line_end(list.text, list.open);
    return inserted(list.text, line, lines);
}

/// Appends the values on the line of the last element.
std::string continue_line(const List& list, const std::vector<std::string>& values) {
    const std::string joined = base::join(values, ", ");
    if (const auto comma = list.commas.back())
        return inserted(list.text, *comma + 1, " " + joined + ",");
    return inserted(list.text, list.elements.back().end, ", " + joined);
}

/// Appends the values on separate lines, after the last element and its comment.
std::string add_lines(const List& list, const std::vector<std::string>& values) {
    const TextRange last = list.elements.back();
    const auto comma = list.commas.back();
    const std::string indentation(between(list.text, line_begin(list.text, last.begin), last.begin));
    const std::string end = line_end(list.text, list.open);
    const std::size_t behind = comma ? *comma + 1 : last.end;
    std::string lines;
    for (const std::string& value : values)
        lines += (lines.empty() ? "" : ",") + end + indentation + value;
    if (comma)
        lines += ",";
    const std::size_t next = next_line(list.text, behind);
    const std::size_t at = next <= list.close ? next - line_end(list.text, behind).size() : behind;
    const std::string text = inserted(list.text, at, lines);
    return comma ? text : inserted(text, last.end, ",");
}

} // namespace

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::size_t line_begin(std::string_view text, std::size_t at) {
    const std::size_t before = text.substr(0, at).rfind('\n');
    if (before != std::string_view::npos)
        return before + 1;
    return base::starts_with(text, byte_order_mark) ? byte_order_mark.size() : 0;
}

std::size_t next_line(std::string_view text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

std::string line_end(std::string_view text, std::size_t at) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos)
        end = text.rfind('\n');
    const bool has_return = end != std::string_view::npos && end > 0 && text[end - 1] == '\r';
    return has_return ? "\r\n" : "\n";
}

std::string without_elements(std::string_view text, const TomlPlace& place, const std::vector<bool>& keeps) {
    const List list = list_at(text, place);
    std::vector<TextRange> cuts;
    std::optional<std::size_t> last_kept;
    for (std::size_t i = 0; i < keeps.size(); ++i)
        if (keeps[i])
            last_kept = i;
        else
            cut_element(list, i, !last_kept, cuts);
    const bool ended_in_comma = !list.commas.empty() && list.commas.back();
    if (last_kept && *last_kept + 1 != keeps.size() && !ended_in_comma)
        if (const auto comma = list.commas[*last_kept])
            cuts.push_back({*comma, *comma + 1});
    return without(text, std::move(cuts));
}

std::string with_elements(std::string_view text, const TomlPlace& place,
                          const std::vector<std::string>& values) {
    const List list = list_at(text, place);
    if (values.empty())
        return std::string(text);
    if (list.elements.empty())
        return fill(list, values);
    return begins_line(list, list.elements.back()) ? add_lines(list, values) : continue_line(list, values);
}

std::string without_list(std::string_view text, const TomlPlace& place) {
    const List list = list_at(text, place);
    const std::string bare = without_elements(text, place, std::vector<bool>(place.elements.size(), false));
    const std::size_t behind = text.size() - place.value.end;
    const std::size_t close = bare.size() - behind - 1;
    if (!is_blank(std::string_view(bare).substr(list.open + 1, close - list.open - 1)))
        return bare;
    const std::size_t line = line_begin(text, place.key.begin);
    const std::size_t next = next_line(text, place.value.end);
    if (!is_blank(between(text, line, place.key.begin)) || !is_blank(between(text, place.value.end, next)))
        return without(text, {{list.open + 1, list.close}});
    const bool ends_file = next == text.size() && text.substr(0, next).find_last_of('\n') + 1 != next;
    const std::size_t begin =
        ends_file && line > 0 && text[line - 1] == '\n' ? line - line_end(text, line - 1).size() : line;
    return without(text, {{begin, next}});
}

} // namespace gpuhost::runtime
