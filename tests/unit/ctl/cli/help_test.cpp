// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/help.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(Help, NamesEveryVerbBelowItsFamily) {
    const std::string help = full_help({});
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
    const std::string help = noun_help({}, "operation");
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

/// Splits a command line as a shell does; knows only single quotes.
std::vector<std::string> shell_words(std::string_view line) {
    std::vector<std::string> words;
    bool quoted = false;
    bool fresh = true;
    for (const char c : line) {
        if (c == '\'') {
            quoted = !quoted;
        } else if (c == ' ' && !quoted) {
            fresh = true;
        } else {
            if (fresh)
                words.emplace_back();
            words.back() += c;
            fresh = false;
        }
    }
    return words;
}

TEST(Help, EveryExampleIsAValidCommand) {
    for (const Verb* verb : verbs()) {
        EXPECT_FALSE(verb->examples.empty()) << verb->name << " has no example";
        for (const Example& example : verb->examples) {
            const auto arguments = Arguments::parse(shell_words(example.command));
            ASSERT_TRUE(arguments) << example.command << ": " << arguments.error().message;
            EXPECT_EQ(arguments->verb(), verb) << example.command;
            EXPECT_FALSE(example.comment.empty()) << example.command;
            EXPECT_LE(text_width("  gpuhostctl " + std::string(example.command)), 80U) << example.command;
            EXPECT_NE(verb_help({}, *verb).find("gpuhostctl " + std::string(example.command)),
                      std::string::npos);
        }
    }
}

TEST(Help, ShortHelpExamplesAreValidCommands) {
    for (const Example& example : short_examples())
        EXPECT_TRUE(Arguments::parse(shell_words(example.command))) << example.command;
}

TEST(Help, ShortHelpHasAtMostFortyLines) {
    const std::string help = short_help({});
    EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 40) << help;
    EXPECT_NE(help.find("  driver swap  "), std::string::npos) << help;
    EXPECT_NE(help.find("gpuhostctl help --all"), std::string::npos);
    EXPECT_EQ(help.find("driver adopt"), std::string::npos);
}

TEST(Help, ShortHelpFitsEightyColumnsWithoutWrapping) {
    for (const Family& group : common_families())
        for (const Verb* verb : group.verbs)
            EXPECT_NE(short_help({}).find(std::string(verb->summary) + "\n"), std::string::npos)
                << verb->name;
}

TEST(Help, SwapHelpShowsUsageAndHolders) {
    const std::string help = verb_help({}, driver_swap_verb);
    EXPECT_EQ(help.substr(0, help.find('\n')), "Usage: gpuhostctl driver swap [OPTION…] VERSION");
    EXPECT_NE(help.find("      --holders=refuse|wait|terminate  what"), std::string::npos) << help;
    EXPECT_NE(help.find("  -h, --help  "), std::string::npos) << help;
}

} // namespace
} // namespace gpuhost::ctl
