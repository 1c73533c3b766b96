// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/table.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(Table, AlignsColumnsAndOmitsEmptyOnes) {
    Table table({{"ID", Table::Align::Right}, {"NOTE"}, {"TITLE"}});
    table.add({"7", "", "swap 535 → 550"});
    table.add({"12", "", "x"});
    EXPECT_EQ(table.render({}), "ID  TITLE\n"
                                " 7  swap 535 → 550\n"
                                "12  x\n");
}

TEST(Table, LinesHaveNoTrailingBlanks) {
    Table table({{"A"}, {"B"}});
    table.add({"one", "two"});
    table.add({"three", ""});
    EXPECT_EQ(table.render({}), "A      B\none    two\nthree\n");
}

TEST(Table, ColourKeepsTheAlignment) {
    Table table({{"STATE"}, {"T"}});
    table.add({{"ok", Style::Good}, "x"});
    EXPECT_EQ(table.render({true, true, 80}), "\033[1mSTATE\033[0m  \033[1mT\033[0m\n"
                                              "\033[32mok   \033[0m  x\n");
}

TEST(Table, WidestColumnIsWrappedOnTerminal) {
    Table table({{"ID", Table::Align::Right}, {"TITLE"}, {"STATE"}});
    table.add({"7", "import the driver and build its modules for each kernel", "done"});
    EXPECT_EQ(table.render({true, false, 45}), "ID  TITLE                               STATE\n"
                                               " 7  import the driver and build its     done\n"
                                               "    modules for each kernel\n");
}

TEST(Table, ColumnsWithoutRoomFollowOnNextLine) {
    Table table({{"NAME"}, {"SIZE", Table::Align::Right}, {"DIGEST"}});
    table.add({"site", "7 B", "sha256:0123456789abcdef"});
    EXPECT_EQ(table.render({true, false, 30}), "NAME  SIZE\n"
                                               "    DIGEST\n"
                                               "site   7 B\n"
                                               "    sha256:0123456789abcdef\n");
    EXPECT_EQ(table.render({}), "NAME  SIZE  DIGEST\n"
                                "site   7 B  sha256:0123456789abcdef\n");
}

Table with_spare_columns() {
    Table table({{"ID"}, {"AGO", Table::Align::Left, 2}, {"KERNEL", Table::Align::Left, 1}, {"STATE"}});
    table.add({"7", "1 min ago", "6.1.0-50", "done"});
    return table;
}

TEST(Table, SpareColumnsAreLeftOutInTheirOrder) {
    EXPECT_EQ(with_spare_columns().render({true, false, 30}), "ID  AGO        KERNEL    STATE\n"
                                                              "7   1 min ago  6.1.0-50  done\n");
    EXPECT_EQ(with_spare_columns().render({true, false, 29}), "ID  AGO        STATE\n"
                                                              "7   1 min ago  done\n");
    EXPECT_EQ(with_spare_columns().render({true, false, 15}), "ID  STATE\n"
                                                              "7   done\n");
    EXPECT_EQ(with_spare_columns().render({}), with_spare_columns().render({true, false, 80}));
}

TEST(Table, SplitRowKeepsItsSpareColumns) {
    EXPECT_EQ(with_spare_columns().render({true, false, 8}), "ID\n"
                                                             "    AGO\n"
                                                             "    KERNEL\n"
                                                             "    STATE\n"
                                                             "7\n"
                                                             "    1 min ago\n"
                                                             "    6.1.0-50\n"
                                                             "    done\n");
}

TEST(Table, TextBelowItsRowIsIndented) {
    Table table({{"ID"}, {"STATE"}, {"CAUSE", Table::Align::Left, 0, true}});
    table.add({"7", "done", ""});
    table.add({"6", "rolled-back", "the driver could not start any GPU"});
    EXPECT_EQ(table.render({true, false, 30}), "ID  STATE\n"
                                               "7   done\n"
                                               "6   rolled-back\n"
                                               "    the driver could not start\n"
                                               "    any GPU\n");
    EXPECT_EQ(table.render({true, false, 80}), "ID  STATE        CAUSE\n"
                                               "7   done\n"
                                               "6   rolled-back  the driver could not start any GPU\n");
}

TEST(Table, DigestIsShortOnlyOnATerminal) {
    const std::string digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    EXPECT_EQ(digest_of({true, false, 80}, digest), "sha256:9f86d081884c");
    EXPECT_EQ(digest_of({}, digest), digest);
    EXPECT_EQ(digest_of({true, false, 80}, "unknown"), "unknown");
}

TEST(Table, WithoutLegendHasOnlyRows) {
    Table table({{"NAME"}});
    table.add({"site"});
    Screen screen;
    screen.legend = false;
    EXPECT_EQ(table.render(screen), "site\n");
}

TEST(Facts, AlignsLabelsRight) {
    Facts facts;
    facts.add("Driver", "550");
    facts.add("GPUs", "2");
    facts.add("", "more");
    EXPECT_EQ(facts.render({}), "Driver: 550\n"
                                "  GPUs: 2\n"
                                "        more\n");
}

} // namespace
} // namespace gpuhost::ctl
