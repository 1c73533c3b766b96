// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/progress.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "tests/unit/ctl/documents.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

Screen screen(std::size_t columns) {
    return {true, false, columns};
}

TEST(ProgressBar, ShowsPercentStepAndText) {
    auto operation = swap_operation("running", {"done", "running", "pending"});
    operation["text"] = "loading nvidia_uvm";
    EXPECT_EQ(progress_bar(screen(100), operation),
              " 43% [==========>             ] 2/3 load nvidia 550.163.01: loading nvidia_uvm");
}

TEST(ProgressBar, NarrowScreenShowsTextInsteadOfStep) {
    auto operation = swap_operation("running", {"done", "running", "pending"});
    operation["text"] = "loading nvidia_uvm";
    EXPECT_EQ(progress_bar(screen(70), operation), " 43% [==========>             ] 2/3 loading nvidia_uvm");
}

TEST(ProgressBar, BarIsNarrowerThanTheScreen) {
    auto operation = swap_operation("running", {"done", "running", "pending"});
    operation["text"] = "読み込み中 → loading nvidia_uvm and some more words that go on and on";
    for (std::size_t columns = 1; columns < 140; ++columns)
        EXPECT_LT(text_width(progress_bar(screen(columns), operation)), std::max<std::size_t>(columns, 2))
            << columns;
}

TEST(ProgressBar, VeryNarrowScreenHasNoBar) {
    const auto operation = swap_operation("running", {"done", "running", "pending"});
    EXPECT_EQ(progress_bar(screen(40), operation), " 43% 2/3 load nvidia 550.163.01");
}

TEST(ProgressBar, InvalidProgressIsClamped) {
    auto operation = swap_operation("running", {"running", "pending", "pending"});
    operation["progress"] = 7.5;
    EXPECT_EQ(progress_bar(screen(80), operation),
              "100% [========================] 1/3 stop nvidia-persistenced.service");
    operation["progress"] = "much";
    EXPECT_EQ(progress_bar(screen(80), operation).substr(0, 7), "  0% [>");
}

TEST(ProgressBar, UndoIsShown) {
    const auto operation = swap_operation("undoing", {"undoing", "undone", "pending"});
    EXPECT_NE(progress_bar(screen(80), operation).find("1/3 undoing: stop nvidia"), std::string::npos);
}

TEST(ProgressBar, TextThatNamesTheStepIsNotRepeated) {
    auto operation = swap_operation("undoing", {"done", "undoing", "pending"});
    operation["text"] = "undoing: load nvidia 550.163.01";
    EXPECT_EQ(progress_bar(screen(100), operation),
              " 43% [==========>             ] 2/3 undoing: load nvidia 550.163.01");
}

TEST(ProgressBar, BeforeTheFirstStepOnlyTextIsShown) {
    auto operation = swap_operation("running", {"pending", "pending", "pending"});
    operation["text"] = "checking";
    operation["progress"] = 0;
    EXPECT_EQ(progress_bar(screen(80), operation), "  0% [>                       ] checking");
}

TEST(ProgressBar, ControlCharactersAreReplaced) {
    auto operation = swap_operation("running", {"pending", "pending", "pending"});
    operation["text"] = "\033[2Jgone\n";
    EXPECT_EQ(progress_bar(screen(80), operation).find('\033'), std::string::npos);
}

TEST(ProgressLines, EachStepIsPrintedOnce) {
    SeenSteps seen;
    const auto first = swap_operation("running", {"running", "pending", "pending"});
    EXPECT_EQ(progress_lines(first, seen), "1/3 stop nvidia-persistenced.service\n");
    EXPECT_EQ(progress_lines(first, seen), "");
    const auto later = swap_operation("running", {"done", "done", "running"});
    EXPECT_EQ(progress_lines(later, seen), "2/3 load nvidia 550.163.01\n3/3 point libraries at 550.163.01\n");
}

TEST(ProgressLines, SkippedStepsAreNotCounted) {
    SeenSteps seen;
    EXPECT_EQ(progress_lines(swap_operation("running", {"running", "pending", "pending"}), seen),
              "1/3 stop nvidia-persistenced.service\n");
    const auto later = swap_operation("running", {"done", "skipped", "running"});
    EXPECT_EQ(progress_lines(later, seen), "2/2 point libraries at 550.163.01\n");
    EXPECT_NE(progress_bar(screen(80), later).find(" 2/2 point libraries"), std::string::npos);
}

TEST(ProgressLines, StepsOfGroupNeverRepeatNumbers) {
    SeenSteps seen;
    EXPECT_EQ(progress_lines(swap_operation("running", {"running", "running", "running"}), seen),
              "1/3 stop nvidia-persistenced.service\n");
    const auto skipped = swap_operation("running", {"done", "skipped", "running"});
    EXPECT_EQ(progress_lines(skipped, seen), "2/2 point libraries at 550.163.01\n");
    EXPECT_EQ(progress_lines(swap_operation("committed", {"done", "skipped", "done"}), seen), "");
}

TEST(ProgressLines, UndoOfAnImportIsNotPrinted) {
    SeenSteps seen;
    auto import = swap_operation("failed", {"undone", "undone", "pending"});
    import["changes_host"] = false;
    EXPECT_EQ(progress_lines(import, seen),
              "1/3 stop nvidia-persistenced.service\n2/3 load nvidia 550.163.01\n");
}

TEST(ProgressLines, UndoneStepsArePrintedInReverse) {
    SeenSteps seen;
    (void)progress_lines(swap_operation("running", {"done", "running", "pending"}), seen);
    EXPECT_EQ(progress_lines(swap_operation("rolled-back", {"undone", "undone", "pending"}), seen),
              "2/3 undoing: load nvidia 550.163.01\n1/3 undoing: stop nvidia-persistenced.service\n");
}

} // namespace
} // namespace gpuhost::ctl
