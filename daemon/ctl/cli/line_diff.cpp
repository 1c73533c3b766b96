// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/line_diff.hpp"

#include <algorithm>

namespace gpuhost::ctl {
namespace {

constexpr std::size_t context = 3;

using Lines = std::vector<std::string_view>;

/// Splits text into lines that include their line feeds. So a last line without a line feed differs from the
/// same line with one.
Lines lines_of(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

void add(std::vector<std::string>& out, char sign, const Lines& lines, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
        const std::string_view line = lines[i];
        const bool whole = line.back() == '\n';
        out.push_back(sign + std::string(line.substr(0, line.size() - (whole ? 1 : 0))));
        if (!whole)
            out.emplace_back("\\ no line feed at its end");
    }
}

/// Formats a range as diff(1) does: an empty range starts at the line before it.
std::string range(std::size_t begin, std::size_t end) {
    return std::to_string(begin + (end > begin ? 1 : 0)) + "," + std::to_string(end - begin);
}

} // namespace

std::vector<std::string> line_diff(std::string_view before, std::string_view after) {
    if (before == after)
        return {};
    const Lines old_lines = lines_of(before);
    const Lines new_lines = lines_of(after);
    const std::size_t shorter = std::min(old_lines.size(), new_lines.size());
    std::size_t head = 0;
    while (head < shorter && old_lines[head] == new_lines[head])
        ++head;
    std::size_t tail = 0;
    while (tail < shorter - head &&
           old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail])
        ++tail;
    const std::size_t begin = head - std::min(head, context);
    const std::size_t after_it = std::min(tail, context);
    const std::size_t old_end = old_lines.size() - tail;
    const std::size_t new_end = new_lines.size() - tail;
    std::vector<std::string> out{"@@ -" + range(begin, old_end + after_it) + " +" +
                                 range(begin, new_end + after_it) + " @@"};
    add(out, ' ', old_lines, begin, head);
    add(out, '-', old_lines, head, old_end);
    add(out, '+', new_lines, head, new_end);
    add(out, ' ', old_lines, old_end, old_end + after_it);
    return out;
}

} // namespace gpuhost::ctl
