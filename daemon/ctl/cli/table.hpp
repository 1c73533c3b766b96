// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/terminal.hpp"

#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Renders aligned columns under a header line. Omits columns without any text. Never truncates a text,
/// because users copy from tables.
class Table {
  public:
    enum class Align { Left, Right };
    struct Column {
        std::string title;
        Align align = Align::Left;
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
    [[nodiscard]] std::vector<std::size_t> widths() const; ///< 0: the column is omitted
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

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
