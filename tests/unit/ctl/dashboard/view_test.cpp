// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/view.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl::dashboard {
namespace {

constexpr auto operations = static_cast<std::size_t>(Pane::Operations);

/// Returns rows for these operations, newest first.
std::vector<Row> rows(std::size_t newest, std::size_t count) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < count; ++i)
        rows.push_back({{}, {Item::Kind::Operation, std::to_string(newest - i)}});
    return rows;
}

View view_of_operations() {
    View view;
    view.focus = operations;
    follow(view, Pane::Operations, rows(20, 10), 4);
    return view;
}

TEST(DashboardView, TabVisitsAllPanes) {
    View view;
    for (std::size_t i = 1; i <= pane_count; ++i) {
        EXPECT_EQ(press(view, Key::Right), Action::None);
        EXPECT_EQ(view.focus, i % pane_count);
    }
    (void)press(view, Key::Left);
    EXPECT_EQ(view.focus, pane_count - 1);
}

TEST(DashboardView, CursorStaysVisible) {
    View view = view_of_operations();
    Scroll& scroll = view.scrolls[operations];
    (void)press(view, Key::Up);
    EXPECT_EQ(scroll.selected, 0U);
    for (int i = 0; i < 5; ++i)
        (void)press(view, Key::Down);
    EXPECT_EQ(scroll.selected, 5U);
    EXPECT_EQ(scroll.top, 2U);
    (void)press(view, Key::PageDown);
    (void)press(view, Key::PageDown);
    EXPECT_EQ(scroll.selected, 9U);
    EXPECT_EQ(scroll.top, 6U);
    (void)press(view, Key::PageUp);
    EXPECT_EQ(scroll.top, 5U);
    (void)press(view, Key::Home);
    EXPECT_EQ(scroll.top, 0U);
    (void)press(view, Key::End);
    EXPECT_EQ(scroll.selected, 9U);
}

TEST(DashboardView, CursorFollowsItsItem) {
    View view = view_of_operations();
    (void)press(view, Key::Down);
    follow(view, Pane::Operations, rows(20, 10), 4);
    EXPECT_EQ(view.items[operations].key, "19");
    follow(view, Pane::Operations, rows(21, 11), 4); // an operation began
    EXPECT_EQ(view.items[operations].key, "19");
    EXPECT_EQ(view.scrolls[operations].selected, 2U);
    follow(view, Pane::Operations, {}, 4);
    EXPECT_EQ(view.scrolls[operations].selected, 0U);
    EXPECT_EQ(view.items[operations], Item{});
}

TEST(DashboardView, EnterOpensTheItem) {
    View view = view_of_operations();
    (void)press(view, Key::Down);
    follow(view, Pane::Operations, rows(20, 10), 4);
    EXPECT_EQ(press(view, Key::Enter), Action::Open);
    EXPECT_EQ(view.opened, (Item{Item::Kind::Operation, "19"}));
    EXPECT_EQ(press(view, Key::Quit), Action::None) << "q goes back";
    EXPECT_FALSE(view.opened);
    EXPECT_EQ(press(view, Key::Quit), Action::Quit);
}

TEST(DashboardView, EnterOpensAPaneWithoutItems) {
    View view;
    follow(view, Pane::Host, {Row{}}, 4);
    (void)press(view, Key::Enter);
    EXPECT_EQ(view.opened, (Item{Item::Kind::Pane, "0"}));
    (void)press(view, Key::Back);
    EXPECT_FALSE(view.opened);
}

TEST(DashboardView, DetailScrollsToItsEnd) {
    View view = view_of_operations();
    (void)press(view, Key::Help);
    EXPECT_EQ(view.opened->kind, Item::Kind::Help);
    follow_detail(view, 30, 20);
    for (int i = 0; i < 3; ++i)
        (void)press(view, Key::PageDown);
    EXPECT_EQ(view.detail.top, 10U);
    follow_detail(view, 5, 20);
    EXPECT_EQ(view.detail.top, 0U);
}

TEST(DashboardView, OtherKeysChangeNothing) {
    View view = view_of_operations();
    for (const Key key : {Key::Other, Key::Back}) {
        EXPECT_EQ(press(view, key), Action::None);
        EXPECT_EQ(view.scrolls[operations].selected, 0U);
        EXPECT_EQ(view.items[operations].key, "20");
    }
    EXPECT_EQ(press(view, Key::Refresh), Action::Refresh);
}

} // namespace
} // namespace gpuhost::ctl::dashboard
