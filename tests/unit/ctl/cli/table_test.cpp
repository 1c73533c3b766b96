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
