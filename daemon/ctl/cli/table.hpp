// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/terminal.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Renders aligned columns under a header, which Screen::legend omits. Omits columns without any text.
/// Truncates no cell but those of Column::cut, because users copy from tables; callers shorten only digests,
/// with digest_of(). On a terminal that is too narrow for a row, first uses Column::below, Column::spare and
/// Column::cut. If that does not suffice, wraps the widest column; if little is left for it, each row gets
/// further lines, with the columns that do not fit, and no column is left out.
class Table {
  public:
    enum class Align { Left, Right };
    struct Column {
        std::string title;
        Align align = Align::Left;
        /// On a terminal that is too narrow, the column with the lowest number is left out, then the next. 0:
        /// none.
        unsigned spare = 0;
        /// On a terminal that is too narrow, the text is printed below its row, indented and without a title.
        bool below = false;
        /// On a terminal that is too narrow, the text is cut, so that each row has one line.
        /// For text that another verb shows whole.
        bool cut = false;
    };
    struct Cell {
        Cell(std::string t)
            : text(std::move(t)) {}      // NOLINT(google-explicit-constructor): rows are lists of texts
        Cell(const char* t) : text(t) {} // NOLINT(google-explicit-constructor)
        Cell(std::string t, Style s) : text(std::move(t)), style(s) {}
        std::string text;
        Style style = Style::Plain;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    /// The row has one cell for each column.
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] std::string render(const Screen& screen) const;

  private:
    /// The columns that share a line of the terminal.
    struct Line {
        std::vector<std::size_t> columns;
        std::size_t indent = 0;
        bool untitled = false;
        bool cut = false; ///< by cut()
    };
    [[nodiscard]] std::vector<std::size_t> widths() const; ///< 0: the column is omitted
    /// Removes spare columns until the line fits, or none is left.
    void leave_out_spare(const Screen& screen, Line& line, const std::vector<std::size_t>& widths) const;
    /// Reduces the width of a column that may be cut so that the line fits, if enough of it is left.
    void cut(const Screen& screen, Line& line, std::vector<std::size_t>& widths) const;
    /// Returns the lines of each row for this terminal, and reduces the widths of columns to wrap.
    [[nodiscard]] std::vector<Line> lines_of_row(const Screen& screen,
                                                 std::vector<std::size_t>& widths) const;
    [[nodiscard]] bool shrinks(const Screen& screen, const Line& line,
                               std::vector<std::size_t>& widths) const;
    /// Returns the lines of a row that is too wide for one line.
    [[nodiscard]] std::vector<Line> split_line(const Screen& screen, const Line& all,
                                               std::vector<std::size_t>& widths) const;
    [[nodiscard]] static std::vector<Line> titled(std::vector<Line> lines);
    void add_row(std::string& out, const Screen& screen, const std::vector<Line>& lines,
                 const std::vector<std::size_t>& widths, const std::vector<Cell>& row) const;
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

/// Returns a digest, on a terminal with its first 12 digits, as podman and docker print it.
[[nodiscard]] std::string digest_of(const Screen& screen, const std::string& digest);

/// Renders lines "  Label: value" with right-aligned labels, as systemctl status does. For further lines of a
/// value, add() an empty label. On a terminal, long values are wrapped.
class Facts {
  public:
    void add(std::string label, std::string value) { rows_.push_back({std::move(label), std::move(value)}); }
    [[nodiscard]] std::string render(const Screen& screen) const;

  private:
    struct Row {
        std::string label;
        std::string value;
    };
    std::vector<Row> rows_;
};

} // namespace gpuhost::ctl
