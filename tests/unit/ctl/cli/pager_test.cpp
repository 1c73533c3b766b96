// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/pager.hpp"

#include <map>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using Variables = std::map<std::string, std::string>;
using Commands = std::vector<std::vector<std::string>>;

PagerSettings settings_of(const Variables& variables, bool elevated) {
    return pager_settings(
        [&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
        },
        elevated);
}

TEST(Pager, EmptyAndCatDisableIt) {
    for (const char* none : {"", " ", "cat"}) {
        EXPECT_TRUE(settings_of({{"SYSTEMD_PAGER", none}, {"PAGER", "less"}}, false).commands.empty());
        EXPECT_TRUE(settings_of({{"PAGER", none}}, false).commands.empty());
    }
    EXPECT_FALSE(settings_of({{"SYSTEMD_PAGER", "less"}, {"PAGER", "cat"}}, false).commands.empty());
}

TEST(Pager, GivenPagerNeedsPagersecure) {
    const Variables given{{"SYSTEMD_PAGER", "most -w"}, {"PAGER", "vi"}};
    EXPECT_EQ(settings_of(given, false).commands, (Commands{{"less"}, {"more"}}));
    Variables trusted = given;
    trusted["SYSTEMD_PAGERSECURE"] = "0";
    EXPECT_EQ(settings_of(trusted, true).commands, (Commands{{"most", "-w"}, {"less"}, {"more"}}));
    trusted.erase("SYSTEMD_PAGER");
    EXPECT_EQ(settings_of(trusted, true).commands.front(), (std::vector<std::string>{"vi"}));
}

struct Secure {
    const char* given; ///< $SYSTEMD_PAGERSECURE; nullptr: not set
    bool elevated;
    bool secure;
};

TEST(Pager, SecureModeAllowsOnlyLess) {
    for (const Secure& one :
         {Secure{nullptr, false, false}, Secure{nullptr, true, true}, Secure{"yes", false, true},
          Secure{"0", true, false}, Secure{"what", false, true}}) {
        const auto settings = settings_of(
            one.given == nullptr ? Variables{} : Variables{{"SYSTEMD_PAGERSECURE", one.given}}, one.elevated);
        EXPECT_EQ(settings.commands, one.secure ? (Commands{{"less"}}) : (Commands{{"less"}, {"more"}}));
        EXPECT_EQ(settings.environment.at(1), one.secure ? "LESSSECURE=1" : "LESSSECURE");
    }
}

TEST(Pager, LessGetsOptionsAndCharset) {
    using Words = std::vector<std::string>;
    EXPECT_EQ(settings_of({}, false).environment, (Words{"LESS=FRSXMK", "LESSSECURE"}));
    EXPECT_EQ(settings_of({{"LANG", "de_DE.UTF-8"}, {"SYSTEMD_LESS", "FRX"}}, false).environment,
              (Words{"LESS=FRX", "LESSSECURE", "LESSCHARSET=utf-8"}));
    EXPECT_EQ(settings_of({{"LANG", "de_DE.UTF-8"}, {"LC_ALL", "C"}}, false).environment.size(), 2U);
    EXPECT_EQ(settings_of({{"SYSTEMD_LESSCHARSET", "latin1"}}, false).environment.back(),
              "LESSCHARSET=latin1");
}

TEST(Pager, LongLinesNeedSeveralRows) {
    const Screen screen{true, true, 10, 24};
    EXPECT_EQ(rows_of(screen, ""), 0U);
    EXPECT_EQ(rows_of(screen, "a\n\nb"), 3U);
    EXPECT_EQ(rows_of(screen, "0123456789\n"), 1U);
    EXPECT_EQ(rows_of(screen, screen.paint(Style::Bad, "0123456789a") + "\n"), 2U);
}

} // namespace
} // namespace gpuhost::ctl
