// SPDX-License-Identifier: Apache-2.0
// The files in packaging/completion/ equal the output of 'make completion'.
#include "daemon/base/root.hpp"
#include "daemon/ctl/completion.hpp"

#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

std::string script(const std::string& name) {
    const char* const top = std::getenv("top_srcdir");
    const auto root = base::Root::open(top == nullptr ? "." : top);
    return root ? root->read("/packaging/completion/" + name).value_or("") : "";
}

void expect_current(const std::string& name, const std::string& tables) {
    const auto wanted = with_tables(script(name), tables);
    ASSERT_TRUE(wanted) << name << ": " << wanted.error().message;
    EXPECT_TRUE(*wanted == script(name))
        << "packaging/completion/" << name << " is out of date: run make completion";
}

TEST(Completion, BashTablesMatchTheVerbs) {
    expect_current("gpuhostctl", bash_tables());
}

TEST(Completion, ZshTablesMatchTheVerbs) {
    expect_current("_gpuhostctl", zsh_tables());
}

TEST(Completion, EveryArgumentAndOptionHasACompleter) {
    for (const Verb* verb : verbs()) {
        EXPECT_TRUE(completed_by(*verb)) << verb->name << " " << verb->arguments;
        for (const Option& option : verb->options)
            EXPECT_TRUE(completed_by(option)) << verb->name << " --" << option.name << "=" << option.argument;
    }
    EXPECT_FALSE(completed_by(Option{"new", "SOMETHING", ""}));
}

TEST(Completion, OptionHasTheSameCompleterInAllVerbs) {
    std::map<std::string_view, std::optional<std::string>> known;
    for (const Verb* verb : verbs())
        for (const Option& option : verb->options)
            EXPECT_EQ(known.try_emplace(option.name, completed_by(option)).first->second,
                      completed_by(option))
                << verb->name << " --" << option.name;
}

TEST(Completion, CompleterFollowsVerbAndFirstArgument) {
    const auto of = [](std::string_view name, std::string_view arguments) {
        return completed_by(Verb{name, arguments, "", "", 0, 1, {}, nullptr});
    };
    EXPECT_EQ(of("driver swap", "VERSION"), "driver");
    EXPECT_EQ(of("toolkit remove", "VERSION"), "toolkit");
    EXPECT_EQ(of("runtime show", "[NAME…]"), "runtime");
    EXPECT_EQ(of("bundle diff", "OLD NEW"), "file");
    EXPECT_EQ(of("status", ""), "");
    EXPECT_EQ(of("toolkits remove", "VERSION"), "driver") << "a version that no noun owns";
    EXPECT_EQ(of("driver swap", "UNKNOWN"), std::nullopt);
    EXPECT_EQ(completed_by(Option{"policy", "Always|Never", ""}), "words Always Never");
}

TEST(Completion, ReplacesOnlyTheTables) {
    const std::string begin = "# Tables, which 'make completion' writes from the verbs:\n";
    const std::string end = "# End of the tables.\n";
    EXPECT_EQ(with_tables("a\n" + begin + "old\n" + end + "b\n", "new\n"),
              "a\n" + begin + "new\n" + end + "b\n");
    for (const std::string& broken : {std::string(), begin, end, end + begin})
        EXPECT_FALSE(with_tables(broken, "new\n")) << broken;
}

} // namespace
} // namespace gpuhost::ctl
