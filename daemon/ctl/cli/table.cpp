// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/table.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
#include <climits>

namespace gpuhost::ctl {
namespace {

constexpr std::string_view gap = "  ";
constexpr std::size_t further_indent = 4; ///< of the lines after a row's first line
constexpr std::size_t least_wrapped = 30; ///< least width of a column that is wrapped between others

std::string aligned(const std::string& text, std::size_t width, Table::Align align) {
    return align == Table::Align::Right ? pad_left(text, width) : pad_right(text, width);
}

void end_line(std::string& out) {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
}

/// Returns the width of these columns in one line.
std::size_t width_of(const std::vector<std::size_t>& columns, std::size_t indent,
                     const std::vector<std::size_t>& widths) {
    std::size_t width = indent + (columns.empty() ? 0 : columns.size() - 1) * gap.size();
    for (const std::size_t i : columns)
        width += widths[i];
    return width;
}

} // namespace

std::vector<std::size_t> Table::widths() const {
    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < columns_.size(); ++i)
            widths[i] = std::max(widths[i], text_width(row[i].text));
    for (std::size_t i = 0; i < columns_.size(); ++i)
        if (widths[i] > 0)
            widths[i] = std::max(widths[i], text_width(columns_[i].title));
    return widths;
}

bool Table::shrinks(const Screen& screen, const Line& line, std::vector<std::size_t>& widths) const {
    const std::size_t widest =
        *std::max_element(line.columns.begin(), line.columns.end(),
                          [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
    const std::size_t others = width_of(line.columns, line.indent, widths) - widths[widest];
    const std::size_t left = screen.columns - std::min(screen.columns, others);
    std::size_t least = line.columns.size() == 1 ? 1 : std::max(least_wrapped, screen.columns / 3);
    for (const auto& row : rows_)
        least = std::max(least, unbroken_width(row[widest].text));
    if (left < least && line.columns.size() > 1)
        return false;
    widths[widest] = std::max(left, least);
    return true;
}

void Table::leave_out_spare(const Screen& screen, Line& line, const std::vector<std::size_t>& widths) const {
    const auto rank = [&](std::size_t i) { return columns_[i].spare == 0 ? UINT_MAX : columns_[i].spare; };
    while (!line.columns.empty() && width_of(line.columns, line.indent, widths) > screen.columns) {
        const auto least = std::min_element(line.columns.begin(), line.columns.end(),
                                            [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
        if (columns_[*least].spare == 0)
            return;
        line.columns.erase(least);
    }
}

void Table::cut(const Screen& screen, Line& line, std::vector<std::size_t>& widths) const {
    for (const std::size_t i : line.columns) {
        const std::size_t others = width_of(line.columns, line.indent, widths) - widths[i];
        const std::size_t left = screen.columns - std::min(screen.columns, others);
        if (!columns_[i].cut || left < least_wrapped || left >= widths[i])
            continue;
        widths[i] = left;
        line.cut = true;
    }
}

std::vector<Table::Line> Table::lines_of_row(const Screen& screen, std::vector<std::size_t>& widths) const {
    Line all;
    for (std::size_t i = 0; i < columns_.size(); ++i)
        if (widths[i] > 0)
            all.columns.push_back(i);
    const auto fits = [&](const Line& line) {
        return width_of(line.columns, line.indent, widths) <= screen.columns;
    };
    if (!screen.terminal || all.columns.empty() || fits(all))
        return {all};
    std::vector<Line> below;
    std::erase_if(all.columns, [&](std::size_t i) {
        if (columns_[i].below)
            below.push_back({{i}, further_indent, true});
        return columns_[i].below;
    });
    Line spared = all;
    leave_out_spare(screen, spared, widths);
    cut(screen, spared, widths);
    std::vector<Line> lines{spared};
    if (!fits(spared) && !shrinks(screen, spared, widths))
        lines = split_line(screen, all, widths); // then no column is left out
    for (const Line& line : below)
        if (!fits(line))
            (void)shrinks(screen, line, widths);
    lines.insert(lines.end(), below.begin(), below.end());
    return lines;
}

std::vector<Table::Line> Table::split_line(const Screen& screen, const Line& all,
                                           std::vector<std::size_t>& widths) const {
    const auto fits_or_shrinks = [&](const Line& line) {
        return width_of(line.columns, line.indent, widths) <= screen.columns || shrinks(screen, line, widths);
    };
    std::vector<Line> lines{{}};
    for (const std::size_t i : all.columns) {
        Line& line = lines.back();
        line.columns.push_back(i);
        if (fits_or_shrinks(line))
            continue;
        line.columns.pop_back();
        lines.push_back({{i}, further_indent});
        (void)fits_or_shrinks(lines.back());
    }
    return lines;
}

void Table::add_row(std::string& out, const Screen& screen, const std::vector<Line>& lines,
                    const std::vector<std::size_t>& widths, const std::vector<Cell>& row) const {
    for (const Line& line : lines) {
        std::vector<std::vector<std::string>> parts; // the lines of each cell
        std::size_t most = 0;
        for (const std::size_t i : line.columns) {
            const std::string text =
                line.cut && columns_[i].cut ? elide(row[i].text, widths[i]) : row[i].text;
            parts.push_back(base::split(screen.terminal ? wrap(text, widths[i], 0, 0) : text, '\n'));
            most = std::max(most, text.empty() ? 0 : parts.back().size());
        }
        for (std::size_t at = 0; at < most; ++at) {
            out += std::string(line.indent, ' ');
            for (std::size_t k = 0; k < line.columns.size(); ++k) {
                const std::size_t i = line.columns[k];
                const std::string part = at < parts[k].size() ? parts[k][at] : "";
                out += (k == 0 ? "" : std::string(gap)) +
                       screen.paint(row[i].style, aligned(part, widths[i], columns_[i].align));
            }
            end_line(out);
        }
    }
}

std::vector<Table::Line> Table::titled(std::vector<Line> lines) {
    std::erase_if(lines, [](const Line& line) { return line.untitled; });
    return lines;
}

std::string Table::render(const Screen& screen) const {
    std::vector<std::size_t> width = widths();
    const std::vector<Line> lines = lines_of_row(screen, width);
    std::vector<Cell> header;
    header.reserve(columns_.size());
    for (const Column& column : columns_)
        header.emplace_back(column.title, Style::Bold);
    std::string out;
    if (screen.legend)
        add_row(out, screen, titled(lines), width, header);
    for (const auto& row : rows_)
        add_row(out, screen, lines, width, row);
    return out;
}

std::string digest_of(const Screen& screen, const std::string& digest) {
    constexpr std::size_t digits = 12;
    const std::size_t colon = digest.find(':');
    return screen.terminal && colon != std::string::npos ? digest.substr(0, colon + 1 + digits) : digest;
}

std::string Facts::render(const Screen& screen) const {
    std::size_t width = 0;
    for (const Row& row : rows_)
        width = std::max(width, text_width(row.label));
    std::string out;
    for (const Row& row : rows_) {
        out += hanging(screen, pad_left(row.label, width) + (row.label.empty() ? "  " : ": "), row.value);
        end_line(out);
    }
    return out;
}

} // namespace gpuhost::ctl
