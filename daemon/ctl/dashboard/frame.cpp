// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/frame.hpp"

#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::ctl::dashboard {
namespace {

constexpr std::size_t most_verdict_lines = 4;
constexpr const char* keys = " Tab: next pane  ↑↓: move  Enter: open  r: refresh  ?: help  q: quit";
constexpr const char* detail_keys = " ↑↓ PgUp PgDn: scroll  Esc: back  r: refresh  ?: help";

Screen screen_for(std::size_t columns) {
    return {true, true, columns, least_rows};
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i)
        out += text;
    return out;
}

/// Returns "─ Title ───── 3-6 of 12 ─". The numbers are those of the visible lines, if some are hidden.
Line title_line(std::string_view title, const Scroll& scroll, std::size_t columns, bool focused) {
    const std::string position =
        scroll.lines <= scroll.height
            ? ""
            : " " + std::to_string(scroll.top + 1) + "-" +
                  std::to_string(std::min(scroll.top + scroll.height, scroll.lines)) + " of " +
                  std::to_string(scroll.lines) + " ─";
    const std::string shown = elide(title, columns - std::min(columns, 4 + text_width(position)));
    const std::size_t used = 3 + text_width(shown) + text_width(position);
    return {{"─", Style::Dim},
            {" " + shown + " ", Style::Bold, focused},
            {repeated("─", columns - std::min(columns, used)) + position, Style::Dim}};
}

Line reversed(Line line) {
    for (Span& span : line)
        span.reverse = true;
    return line;
}

Line indented(const Line& line, std::size_t columns) {
    Line out = fitted(line, columns - 1);
    out.insert(out.begin(), Span{" "});
    return out;
}

/// Returns the pane's lines: the title and the visible rows.
std::vector<Line> pane_lines(Pane pane, const std::vector<Row>& rows, const View& view, const Rect& rect) {
    const auto index = static_cast<std::size_t>(pane);
    const Scroll& scroll = view.scrolls.at(index);
    const bool focused = index == view.focus;
    std::vector<Line> lines{fitted(title_line(title_of(pane), scroll, rect.columns, focused), rect.columns)};
    for (std::size_t i = 0; i + 1 < rect.rows; ++i) {
        const std::size_t at = scroll.top + i;
        Line line = indented(at < rows.size() ? rows[at].line : Line{}, rect.columns);
        lines.push_back(focused && at == scroll.selected && !rows.empty() ? reversed(std::move(line))
                                                                          : std::move(line));
    }
    return lines;
}

/// Returns the character between two panes: part of the rule in rows with titles.
const char* between(bool is_title, bool has_line_above) {
    return !is_title ? "│" : has_line_above ? "┼" : "┬";
}

/// Puts the panes side by side. `rects` are ordered by row, then by column.
void add_panes(Frame& frame, const std::array<std::vector<Line>, pane_count>& panes_lines,
               const std::array<Rect, pane_count>& rects) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < pane_count; ++i)
        order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(rects.at(a).row, rects.at(a).column) <
               std::pair(rects.at(b).row, rects.at(b).column);
    });
    const std::size_t top = frame.size();
    for (const std::size_t i : order) {
        const Rect& rect = rects.at(i);
        frame.resize(std::max(frame.size(), rect.row + rect.rows));
        for (std::size_t line = 0; line < rect.rows; ++line) {
            Line& row = frame.at(rect.row + line);
            if (rect.column > 0)
                row.push_back({between(line == 0, rect.row > top), Style::Dim});
            const Line& part = panes_lines.at(i).at(line);
            row.insert(row.end(), part.begin(), part.end());
        }
    }
}

void add_overview(Frame& frame, const Documents& documents, View& view, const Size& size) {
    const auto columns = pane_columns(size.columns);
    std::array<std::vector<Row>, pane_count> rows;
    std::array<std::size_t, pane_count> wanted{};
    for (const Pane pane : panes) {
        const auto i = static_cast<std::size_t>(pane);
        rows.at(i) = rows_of(pane, documents, screen_for(columns.at(i)));
        wanted.at(i) = rows.at(i).size();
    }
    const auto rects = layout(size, frame.size(), wanted);
    std::array<std::vector<Line>, pane_count> lines;
    for (const Pane pane : panes) {
        const auto i = static_cast<std::size_t>(pane);
        follow(view, pane, rows.at(i), rects.at(i).rows - 1);
        lines.at(i) = pane_lines(pane, rows.at(i), view, rects.at(i));
    }
    add_panes(frame, lines, rects);
}

void add_detail(Frame& frame, const Documents& documents, View& view, const Size& size) {
    const Detail detail = detail_of(*view.opened, documents, screen_for(size.columns - 1));
    const std::size_t height = size.rows - frame.size() - 2; // without the title and the line of keys
    follow_detail(view, detail.lines.size(), height);
    frame.push_back(fitted(title_line(detail.title, view.detail, size.columns, true), size.columns));
    for (std::size_t i = 0; i < height; ++i) {
        const std::size_t at = view.detail.top + i;
        frame.push_back(indented(at < detail.lines.size() ? detail.lines[at] : Line{}, size.columns));
    }
}

Frame too_small(const Documents& documents, const Size& size) {
    const Screen screen = screen_for(size.columns);
    Frame frame = verdict_lines(documents, screen);
    const std::string why = "The terminal has " + std::to_string(size.columns) + " columns and " +
                            std::to_string(size.rows) + " rows, the dashboard needs " +
                            std::to_string(least_columns) + " and " + std::to_string(least_rows) + ".";
    for (Line& line : styled_lines(screen.paint(Style::Dim, wrap(why, size.columns, 0, 0))))
        frame.push_back(std::move(line));
    return frame;
}

} // namespace

Frame compose(const Documents& documents, View& view, const Size& size) {
    Frame frame;
    if (!fits(size)) {
        frame = too_small(documents, size);
    } else {
        frame = verdict_lines(documents, screen_for(size.columns));
        const bool is_cut = frame.size() > most_verdict_lines;
        frame.resize(std::clamp<std::size_t>(frame.size(), 1, most_verdict_lines));
        if (is_cut)
            frame.back().push_back({" …"});
        if (view.opened)
            add_detail(frame, documents, view, size);
        else
            add_overview(frame, documents, view, size);
        const std::string name = printable(documents.name) + " ";
        const std::string left = elide(view.opened ? detail_keys : keys, size.columns);
        const std::size_t free = size.columns - text_width(left);
        frame.push_back(
            {{left, Style::Dim}, {pad_left(text_width(name) < free ? name : "", free), Style::Bold}});
    }
    frame.resize(size.rows);
    for (Line& line : frame)
        line = fitted(line, size.columns);
    return frame;
}

std::string plain_text(const Documents& documents, const Screen& screen) {
    std::string out = render_verdict(screen, verdict_of(documents));
    for (const Pane pane : panes) {
        out += "\n" + screen.paint(Style::Bold, title_of(pane)) + "\n";
        for (const Row& row : rows_of(pane, documents, screen)) {
            const Line line = screen.terminal ? fitted(row.line, screen.columns) : row.line;
            std::string shown = painted(screen, line);
            shown.erase(shown.find_last_not_of(' ') + 1);
            out += shown + "\n";
        }
    }
    return out;
}

} // namespace gpuhost::ctl::dashboard
