// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/help.hpp"
#include "daemon/ctl/cli/table.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(Wrap, BreaksAtBlanksWithHangingIndent) {
    EXPECT_EQ(wrap("aa bb cc dd", 7, 2, 1), "aa bb\n cc dd");
    EXPECT_EQ(wrap("aa bb", 7, 2, 2), "aa bb");
}

TEST(Wrap, KeepsCommandWhole) {
    EXPECT_EQ(wrap("build them: gpuhostctl driver build 550.163.01 --kernel 6.1.0-50-amd64", 60, 10, 10),
              "build them:\n          gpuhostctl driver build 550.163.01 --kernel 6.1.0-50-amd64");
    EXPECT_EQ(wrap("say 'gpuhostctl apply', then wait for it", 24, 0, 2),
              "say 'gpuhostctl apply',\n  then wait for it");
    EXPECT_EQ(wrap("see: journalctl -k --since '2026-11-28 18:29:25' -g 'NVRM|nvidia'. Then wait", 65, 0, 2),
              "see:\n  journalctl -k --since '2026-11-28 18:29:25' -g 'NVRM|nvidia'.\n  Then wait");
}

TEST(Wrap, ProgramMayBeAnotherWord) {
    EXPECT_EQ(wrap("aa: mount -o remount,rw /mnt", 20, 0, 2), "aa:\n  mount -o remount,rw /mnt");
    EXPECT_EQ(wrap("the mount of all files", 14, 0, 2), "the mount of\n  all files");
    EXPECT_EQ(wrap("as root: sudo gpuhostctl apply", 20, 0, 2), "as root:\n  sudo gpuhostctl apply");
}

TEST(Wrap, KeepsDurationWhole) {
    EXPECT_EQ(wrap("rolled-back, 5.0 s ago", 18, 0, 2), "rolled-back,\n  5.0 s ago");
    EXPECT_EQ(wrap("took 1 min 12 s, then 3 more", 14, 0, 2), "took\n  1 min 12 s,\n  then 3 more");
    EXPECT_EQ(wrap("aa 2 GPUs", 6, 0, 2), "aa 2\n  GPUs");
}

TEST(Wrap, RemarkAfterCommandMayBeBroken) {
    EXPECT_EQ(wrap("gpuhostctl apply   (then reboot)", 20, 0, 2), "gpuhostctl apply\n  (then reboot)");
}

TEST(Wrap, FitKeepsIndentAndNumbers) {
    Screen screen{true, false, 12};
    EXPECT_EQ(fit(screen, "aa\n  1. bbb ccc ddd\n\n  eee fff ggg"),
              "aa\n  1. bbb ccc\n     ddd\n\n  eee fff\n    ggg");
    screen.terminal = false;
    EXPECT_EQ(fit(screen, "  eee fff ggg hhh\n"), "  eee fff ggg hhh\n");
}

TEST(Wrap, IgnoresEscapeSequences) {
    EXPECT_EQ(wrap("\033[1;31maa bb\033[0m", 5, 0, 0), "\033[1;31maa bb\033[0m");
}

std::size_t widest(const std::string& text) {
    std::size_t width = 0;
    for (const std::string& line : base::split(text, '\n'))
        width = std::max(width, text_width(line));
    return width;
}

TEST(Wrap, FactsFitTheTerminal) {
    Facts facts;
    facts.add("Hint", "Import modules for it, or install its headers and build them: gpuhostctl driver build "
                      "550.163.01 --kernel 6.1.0-50-amd64.");
    Screen screen;
    screen.terminal = true;
    EXPECT_EQ(facts.render(screen), "Hint: Import modules for it, or install its headers and build them:\n"
                                    "      gpuhostctl driver build 550.163.01 --kernel 6.1.0-50-amd64.\n");
    screen.terminal = false;
    EXPECT_GT(widest(facts.render(screen)), screen.columns);
}

TEST(Wrap, GeneralHelpFitsEightyColumns) {
    EXPECT_LE(widest(full_help({})), 80U) << full_help({});
}

} // namespace
} // namespace gpuhost::ctl
