// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/table.hpp"

#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <algorithm>

namespace gpuhost::ctl {
namespace {

constexpr std::string_view gap = "  ";

std::string aligned(const std::string& text, std::size_t width, Table::Align align) {
    return align == Table::Align::Right ? pad_left(text, width) : pad_right(text, width);
}

void end_line(std::string& out) {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
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

std::string Table::render(const Screen& screen) const {
    const std::vector<std::size_t> width = widths();
    std::string out;
    const auto line = [&](const auto& cell_of) {
        for (std::size_t i = 0, shown = 0; i < columns_.size(); ++i) {
            if (width[i] == 0)
                continue;
            out += shown++ == 0 ? std::string_view{} : gap;
            out += cell_of(i);
        }
        end_line(out);
    };
    line([&](std::size_t i) {
        return screen.paint(Style::Bold, aligned(columns_[i].title, width[i], columns_[i].align));
    });
    for (const auto& row : rows_)
        line([&](std::size_t i) {
            return screen.paint(row[i].style, aligned(row[i].text, width[i], columns_[i].align));
        });
    return out;
}

std::string Facts::render(const Screen& screen) const {
    std::size_t width = 0;
    for (const Row& row : rows_)
        width = std::max(width, text_width(row.label));
    std::string out;
    for (const Row& row : rows_) {
        out += pad_left(row.label, width) + (row.label.empty() ? "  " : ": ") +
               (screen.terminal ? wrap(row.value, screen.columns, width + 2, width + 2) : row.value);
        end_line(out);
    }
    return out;
}

} // namespace gpuhost::ctl
