// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/view.hpp"

#include <algorithm>

namespace gpuhost::ctl::dashboard {
namespace {

/// Returns the position after a key of movement, at most `last`.
std::size_t moved(Key key, std::size_t at, std::size_t page, std::size_t last) {
    switch (key) {
    case Key::Up:
        return at - std::min<std::size_t>(at, 1);
    case Key::Down:
        return std::min(at + 1, last);
    case Key::PageUp:
        return at - std::min(at, page);
    case Key::PageDown:
        return std::min(at + page, last);
    case Key::Home:
        return 0;
    case Key::End:
        return last;
    default:
        return std::min(at, last);
    }
}

std::size_t last_top(const Scroll& scroll) {
    return scroll.lines - std::min(scroll.lines, scroll.height);
}

Action press_opened(View& view, Key key) {
    Scroll& scroll = view.detail;
    if (key == Key::Back || key == Key::Quit || key == Key::Left)
        view.opened.reset();
    else if (key == Key::Help)
        view.opened = Item{Item::Kind::Help, {}};
    scroll.top = view.opened ? moved(key, scroll.top, scroll.height, last_top(scroll)) : 0;
    return key == Key::Help ? Action::Open : Action::None;
}

} // namespace

void Scroll::fit(std::size_t new_lines, std::size_t new_height) {
    lines = new_lines;
    height = std::max<std::size_t>(new_height, 1);
    selected = std::min(selected, lines - std::min<std::size_t>(lines, 1));
    top = std::clamp(top, selected - std::min(selected, height - 1), selected);
    top = std::min(top, last_top(*this));
}

void Scroll::move(Key key) {
    selected = moved(key, selected, height, lines - std::min<std::size_t>(lines, 1));
    fit(lines, height);
}

void follow(View& view, Pane pane, const std::vector<Row>& rows, std::size_t height) {
    const auto index = static_cast<std::size_t>(pane);
    Scroll& scroll = view.scrolls.at(index);
    Item& item = view.items.at(index);
    const auto is_same = [&](const Row& row) { return row.item == item; };
    const bool has_moved = scroll.selected >= rows.size() || !is_same(rows[scroll.selected]);
    if (has_moved && item.kind != Item::Kind::None)
        if (const auto found = std::find_if(rows.begin(), rows.end(), is_same); found != rows.end())
            scroll.selected = static_cast<std::size_t>(found - rows.begin());
    scroll.fit(rows.size(), height);
    item = scroll.selected < rows.size() ? rows[scroll.selected].item : Item{};
}

void follow_detail(View& view, std::size_t lines, std::size_t height) {
    view.detail.lines = lines;
    view.detail.height = std::max<std::size_t>(height, 1);
    view.detail.top = std::min(view.detail.top, last_top(view.detail));
}

Action press(View& view, Key key) {
    if (key == Key::Refresh)
        return Action::Refresh;
    if (view.opened)
        return press_opened(view, key);
    switch (key) {
    case Key::Quit:
        return Action::Quit;
    case Key::Left:
        view.focus = (view.focus + pane_count - 1) % pane_count;
        return Action::None;
    case Key::Right:
        view.focus = (view.focus + 1) % pane_count;
        return Action::None;
    case Key::Enter:
        view.opened = view.items.at(view.focus);
        if (view.opened->kind == Item::Kind::None)
            view.opened = Item{Item::Kind::Pane, std::to_string(view.focus)};
        view.detail = {};
        return Action::Open;
    case Key::Help:
        view.opened = Item{Item::Kind::Help, {}};
        view.detail = {};
        return Action::Open;
    case Key::Back:
    case Key::Other:
        return Action::None;
    default:
        view.scrolls.at(view.focus).move(key);
        // The cursor left its item, which follow() would otherwise select again.
        view.items.at(view.focus) = {};
        return Action::None;
    }
}

} // namespace gpuhost::ctl::dashboard
