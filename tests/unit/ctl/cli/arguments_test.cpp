// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/nearest.hpp"
#include "daemon/ctl/cli/arguments.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <map>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

using Words = std::vector<std::string>;

base::Error error_of(const Words& words) {
    const auto arguments = Arguments::parse(words);
    return arguments ? base::Error{base::Errc::Failed, "was accepted", ""} : arguments.error();
}

TEST(Arguments, FindsVerbOfTwoWordsAndItsArguments) {
    const auto arguments = Arguments::parse(Words{"driver", "swap", "550.163.01"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->verb(), &driver_swap_verb);
    EXPECT_EQ(arguments->words(), Words{"550.163.01"});
}

TEST(Arguments, WithoutVerbShowsTheStatus) {
    EXPECT_EQ(Arguments::parse(Words{})->verb(), &status_verb);
    EXPECT_EQ(Arguments::parse(Words{"--json"})->verb(), &status_verb);
}

TEST(Arguments, OptionsMayBeAnywhereWithEitherValueForm) {
    for (const Words& words : {Words{"--holders=wait", "driver", "swap", "1.2"},
                               Words{"driver", "--holders", "wait", "swap", "1.2"},
                               Words{"driver", "swap", "1.2", "--holders", "wait"}}) {
        const auto arguments = Arguments::parse(words);
        ASSERT_TRUE(arguments) << arguments.error().message;
        EXPECT_EQ(arguments->value(option::holders), "wait");
        EXPECT_EQ(arguments->words(), Words{"1.2"});
    }
}

TEST(Arguments, OptionalValueNeedsAnEqualsSign) {
    const auto plain = Arguments::parse(Words{"operation", "show", "--json", "7"});
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->value(option::json), "");
    EXPECT_EQ(plain->words(), Words{"7"});
    EXPECT_EQ(Arguments::parse(Words{"status", "--json=short"})->value(option::json), "short");
}

TEST(Arguments, ShortOptionsMayShareOneWord) {
    for (const Words& words : {Words{"status", "-qj"}, Words{"-j", "status", "-q"}, Words{"-jq"}}) {
        const auto arguments = Arguments::parse(words);
        ASSERT_TRUE(arguments) << arguments.error().message;
        EXPECT_EQ(arguments->verb(), &status_verb);
        EXPECT_TRUE(arguments->has("quiet"));
        EXPECT_EQ(arguments->value(option::json), "");
    }
}

TEST(Arguments, RepeatedOptionsKeepAllValues) {
    const auto arguments = Arguments::parse(Words{"driver", "build", "1.2", "--kernel=a", "--kernel", "b"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->values({"kernel", "RELEASE", ""}), (Words{"a", "b"}));
}

TEST(Arguments, TwoDashesEndTheOptions) {
    const auto arguments = Arguments::parse(Words{"driver", "import", "--", "--json"});
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->words(), Words{"--json"});
    EXPECT_FALSE(arguments->has(option::json));
}

TEST(Arguments, EveryVerbHasHelpWithoutArguments) {
    for (const Verb* verb : verbs()) {
        const std::string name(verb->name);
        const std::size_t blank = name.find(' ');
        Words words{name.substr(0, blank)};
        if (blank != std::string::npos)
            words.push_back(name.substr(blank + 1));
        for (const char* help : {"--help", "-h", "--version"}) {
            words.emplace_back(help);
            const auto arguments = Arguments::parse(words);
            ASSERT_TRUE(arguments) << name;
            EXPECT_EQ(arguments->verb(), verb);
            words.pop_back();
        }
    }
    EXPECT_EQ(Arguments::parse(Words{"driver", "--help"})->topic(), "driver");
    EXPECT_EQ(Arguments::parse(Words{"--help"})->verb(), nullptr);
}

struct Wrong {
    Words words;
    std::string message;
    std::string hint;
};

class WrongArguments : public testing::TestWithParam<Wrong> {};

TEST_P(WrongArguments, ErrorNamesTheWordAndTheNearest) {
    const base::Error error = error_of(GetParam().words);
    EXPECT_EQ(error.code, base::Errc::InvalidArgument);
    EXPECT_EQ(error.message, GetParam().message);
    EXPECT_EQ(error.hint, GetParam().hint);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongArguments,
    testing::Values(
        Wrong{{"sttaus"}, "unknown verb 'sttaus'", "Did you mean 'status'?"},
        Wrong{{"swap", "1.2"}, "unknown verb 'swap'", "Did you mean 'driver swap'?"},
        Wrong{{"frobnicate"}, "unknown verb 'frobnicate'", "List all verbs: gpuhostctl help --all."},
        Wrong{{"gpuhost-bundle(5)"},
              "'gpuhost-bundle(5)' is not a verb",
              "Read the manual page: man gpuhost-bundle."},
        Wrong{{"operation"}, "'operation' needs a verb", "Use one of: list, show, wait, cancel."},
        Wrong{{"driver", "lst"}, "unknown verb 'driver lst'", "Did you mean 'list'?"},
        Wrong{{"driver", "xyzzy"}, "unknown verb 'driver xyzzy'", "List its verbs: gpuhostctl help driver."},
        Wrong{{"driver"}, "'driver' needs a verb", "List its verbs: gpuhostctl help driver."},
        Wrong{{"driver", "select", "1.2"},
              "'driver select' is now 'driver set-default'",
              "Write: gpuhostctl driver set-default."},
        Wrong{{"secure-boot", "enroll"},
              "'secure-boot enroll' is now 'secure-boot show-enrolment'",
              "Write: gpuhostctl secure-boot show-enrolment."},
        Wrong{{"secure-boot", "--create", "enroll"},
              "'secure-boot enroll --create' is now 'secure-boot create-key'",
              "Write: gpuhostctl secure-boot create-key."},
        Wrong{{"cluster", "status", "--all"},
              "'cluster status --all' is now 'fleet status --all'",
              "Write: gpuhostctl fleet status --all."},
        Wrong{{"plan", "--help"}, "'plan' is now 'apply --dry-run'", "Write: gpuhostctl apply --dry-run."},
        Wrong{{"cat-config"}, "'cat-config' is now 'config cat'", "Write: gpuhostctl config cat."},
        Wrong{{"status", "--jso"}, "unknown option '--jso'", "Did you mean '--json'?"},
        Wrong{
            {"driver", "swap", "1.2", "--hold=wait"}, "unknown option '--hold'", "Did you mean '--holders'?"},
        Wrong{{"driver", "swap", "1.2", "--no-wiat"},
              "unknown option '--no-wiat'",
              "Did you mean '--no-wait'?"},
        Wrong{{"status", "-v"}, "unknown option '-v'", "See: gpuhostctl status --help."},
        Wrong{{"status", "-qv"}, "unknown option '-v'", "See: gpuhostctl status --help."},
        Wrong{{"reload", "-j"}, "'reload' has no option '--json'", "See: gpuhostctl reload --help."},
        Wrong{
            {"status", "--no-wait"}, "'status' has no option '--no-wait'", "See: gpuhostctl status --help."},
        Wrong{{"status", "--json="}, "option '--json' has an empty value", "Write: --json=short|pretty."},
        Wrong{{"status", "--json=yaml"}, "wrong value 'yaml' for '--json'", "Use one of: short, pretty."},
        Wrong{{"driver", "swap", "1.2", "--holders=termnate"},
              "wrong value 'termnate' for '--holders'",
              "Did you mean 'terminate'?"},
        Wrong{{"driver", "build", "1.2", "--kernel"},
              "option '--kernel' needs a value",
              "Write: --kernel=RELEASE."},
        Wrong{{"apply", "--dry-run=yes"}, "option '--dry-run' does not accept a value", "Write: --dry-run."},
        Wrong{{"driver", "swap"}, "'driver swap' needs VERSION", "Usage: gpuhostctl driver swap VERSION."},
        Wrong{{"driver", "swap", "1", "2"},
              "one argument too many: '2'",
              "Usage: gpuhostctl driver swap VERSION."},
        Wrong{{"status", "now"}, "'status' accepts no argument, got 'now'", "Usage: gpuhostctl status."}));

TEST(Verbs, LetterMeansSameOptionEverywhere) {
    std::map<char, std::string_view> names;
    for (const Verb* verb : verbs())
        for (const std::span<const Option> options : {verb->options, common_options()})
            for (const Option& option : options)
                if (option.letter != 0) {
                    EXPECT_EQ(names.emplace(option.letter, option.name).first->second, option.name)
                        << option.letter;
                }
}

TEST(Verbs, OptionsWithTheSameNameHaveSameValues) {
    // Words and values are distinguished before the verb is known.
    for (const Verb* one : verbs())
        for (const Verb* other : verbs())
            for (const Option& a : one->options)
                for (const Option& b : other->options)
                    if (a.name == b.name) {
                        EXPECT_EQ(a.argument, b.argument) << a.name;
                        EXPECT_EQ(a.argument_optional, b.argument_optional) << a.name;
                    }
}

TEST(Nearest, DistantWordHasNoSuggestion) {
    EXPECT_EQ(base::nearest("xyzzy", {"status", "apply"}), "");
    EXPECT_EQ(base::nearest("aplpy", {"status", "apply"}), "apply");
    EXPECT_EQ(base::nearest("sta", {"status", "apply"}), "status");
    EXPECT_EQ(base::nearest("DRIVER", {"CDI", "Driver"}), "Driver");
}

} // namespace
} // namespace gpuhost::ctl
