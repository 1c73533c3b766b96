// SPDX-License-Identifier: Apache-2.0
// The focus, the cursors and the opened item, and how keys change them. Pure functions.
#pragma once

#include "daemon/ctl/dashboard/model.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace gpuhost::ctl::dashboard {

enum class Key {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Back,
    Quit,
    Refresh,
    Help,
    Other
};

/// A list of lines with a cursor, of which a part is visible.
struct Scroll {
    std::size_t lines = 0;    ///< of the content
    std::size_t height = 0;   ///< of the visible part
    std::size_t selected = 0; ///< line of the cursor
    std::size_t top = 0;      ///< first visible line

    /// Adapts to content and height, with the cursor visible.
    void fit(std::size_t new_lines, std::size_t new_height);
    void move(Key key);
};

struct View {
    std::size_t focus = 0; ///< index in `panes`
    std::array<Scroll, pane_count> scrolls;
    std::array<Item, pane_count> items; ///< under the cursors; kept selected when lines move
    std::optional<Item> opened;
    Scroll detail; ///< of what is opened; has no cursor, so `selected` is `top`
};

/// Sets `scroll` of a pane for its present rows. The cursor follows the item that it was on.
void follow(View& view, Pane pane, const std::vector<Row>& rows, std::size_t height);
/// Sets the scroll of what is opened.
void follow_detail(View& view, std::size_t lines, std::size_t height);

enum class Action { None, Refresh, Open, Quit };
[[nodiscard]] Action press(View& view, Key key);

} // namespace gpuhost::ctl::dashboard
