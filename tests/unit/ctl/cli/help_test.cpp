// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/help.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(Help, NamesEveryVerbBelowItsFamily) {
    const std::string help = general_help({}, "");
    std::size_t at = 0;
    for (const Family& family : families()) {
        at = help.find("\n" + std::string(family.heading) + "\n", at);
        ASSERT_NE(at, std::string::npos) << family.heading;
        for (const Verb* verb : family.verbs) {
            at = help.find("\n  " + std::string(verb->name), at);
            ASSERT_NE(at, std::string::npos) << verb->name;
        }
    }
}

TEST(Help, TopicListsOnlyItsVerbs) {
    const std::string help = general_help({}, "operation");
    EXPECT_NE(help.find("operation cancel ID"), std::string::npos);
    EXPECT_EQ(help.find("driver swap"), std::string::npos);
}

TEST(Help, NamesEveryOptionOfAVerb) {
    for (const Verb* verb : verbs())
        for (const Option& option : verb->options)
            EXPECT_NE(verb_help({}, *verb).find("--" + std::string(option.name)), std::string::npos)
                << verb->name << " --" << option.name;
}

TEST(Help, VerbHelpFitsHundredColumns) {
    for (const Verb* verb : verbs()) {
        const std::string help = verb_help({}, *verb);
        for (std::size_t begin = 0, end = 0; (end = help.find('\n', begin)) != std::string::npos;
             begin = end + 1)
            EXPECT_LE(text_width(help.substr(begin, end - begin)), 100U) << help.substr(begin, end - begin);
    }
}

TEST(Help, SwapHelpShowsUsageAndHolders) {
    const std::string help = verb_help({}, driver_swap_verb);
    EXPECT_EQ(help.substr(0, help.find('\n')), "Usage: gpuhostctl driver swap [OPTION…] VERSION");
    EXPECT_NE(help.find("      --holders=refuse|wait|terminate  what"), std::string::npos) << help;
    EXPECT_NE(help.find("  -h, --help  "), std::string::npos) << help;
}

} // namespace
} // namespace gpuhost::ctl
