// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/frame.hpp"
#include "tests/unit/ctl/dashboard/documents.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl::dashboard {
namespace {

std::string shown(const Documents& documents, View& view, const Size& size) {
    const Frame frame = compose(documents, view, size);
    EXPECT_EQ(frame.size(), size.rows);
    for (const Line& line : frame)
        EXPECT_EQ(width_of(line), size.columns) << painted({}, line);
    return text_of_lines(frame);
}

TEST(DashboardFrame, SmallestTerminalShowsAllPanes) {
    View view;
    const std::string text = shown(running_sample(), view, {24, 80});
    EXPECT_EQ(text.find("NOT OK: operation 12 changes this host"), 0U) << text;
    for (const Pane pane : panes)
        EXPECT_NE(text.find("─ " + std::string(title_of(pane)) + " ─"), std::string::npos) << text;
    EXPECT_NE(text.find("43% "), std::string::npos) << text;
    EXPECT_NE(text.find("gpu01 \n"), std::string::npos) << text;
}

TEST(DashboardFrame, AnySizeIsFilled) {
    for (const std::size_t columns : {1U, 20U, 79U, 80U, 81U, 119U, 150U, 400U})
        for (const std::size_t rows : {1U, 5U, 24U, 25U, 60U}) {
            View view;
            (void)shown(running_sample(), view, {rows, columns});
            view.opened = Item{Item::Kind::Operation, "12"};
            (void)shown(running_sample(), view, {rows, columns});
        }
}

TEST(DashboardFrame, SmallTerminalShowsVerdictAlone) {
    View view;
    const std::string text = shown(sample(), view, {20, 60});
    EXPECT_EQ(text.find("OK: driver 550.163.01 serves 2 GPUs"), 0U);
    EXPECT_NE(text.find("The terminal has 60 columns and 20 rows"), std::string::npos) << text;
    EXPECT_EQ(text.find("Cluster"), std::string::npos);
}

TEST(DashboardFrame, LongVerdictIsMarkedAsCut) {
    Documents documents = sample();
    documents.problem = base::Error{base::Errc::Failed, "first", ""};
    for (int i = 0; i < 100; ++i)
        documents.problem->message += " reason";
    View view;
    const Frame frame = compose(documents, view, {24, 80});
    EXPECT_NE(painted({}, frame[3]).find("…"), std::string::npos) << text_of_lines(frame);
    EXPECT_EQ(width_of(frame[3]), 80U);
    EXPECT_NE(painted({}, frame[4]).find("─ Host ─"), std::string::npos) << text_of_lines(frame);
}

TEST(DashboardFrame, FocusedPaneMarksItsCursor) {
    View view;
    const Frame frame = compose(sample(), view, {24, 80});
    std::string reverse;
    for (const Line& line : frame)
        for (const Span& span : line)
            reverse += span.reverse ? span.text : "";
    EXPECT_EQ(reverse.find(" Host  "), 0U) << reverse;
    EXPECT_NE(reverse.find("Host: idle"), std::string::npos) << reverse;
    EXPECT_EQ(reverse.find("Pending"), std::string::npos) << reverse;
}

TEST(DashboardFrame, LongPaneShowsItsPosition) {
    Documents documents = sample();
    for (std::uint64_t id = 13; id < 60; ++id)
        documents.operations.push_back({id, "k", "committed", "t", 1, 2});
    View view;
    view.focus = static_cast<std::size_t>(Pane::Operations);
    const std::string text = shown(documents, view, {24, 80});
    EXPECT_NE(text.find(" of 50 ─"), std::string::npos) << text;
}

TEST(DashboardFrame, SameDocumentsMakeTheSameFrame) {
    View view;
    EXPECT_EQ(compose(sample(), view, {24, 80}), compose(sample(), view, {24, 80}));
}

TEST(DashboardFrame, PlainTextHasAllPanes) {
    const std::string text = plain_text(sample(), {});
    EXPECT_EQ(text.find("OK: driver 550.163.01 serves 2 GPUs\n\nHost\n   Host: idle"), 0U) << text;
    EXPECT_NE(text.find("\nOperations\nID  AGE  STATE      TITLE\n12  72s  committed  swap driver\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find('\033'), std::string::npos);
}

} // namespace
} // namespace gpuhost::ctl::dashboard
