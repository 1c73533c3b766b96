// SPDX-License-Identifier: Apache-2.0
// packaging/completion/gpuhostctl is a script with two tables; both must be the program's own.
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/verb.hpp"

#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

std::string script() {
    const char* const top = std::getenv("top_srcdir");
    const auto root = base::Root::open(top == nullptr ? "." : top);
    return root ? root->read("/packaging/completion/gpuhostctl").value_or("") : "";
}

/// `["key"]="value"` lines of one table.
std::set<std::string> lines_of(const std::string& table) {
    const std::string text = script();
    const std::size_t begin = text.find("declare -A _gpuhostctl_" + table + "=(\n");
    std::set<std::string> lines;
    if (begin != std::string::npos)
        for (const std::string& line : base::split(text.substr(begin, text.find("\n)", begin) - begin), '\n'))
            if (base::starts_with(line, "    ["))
                lines.emplace(base::trim(line));
    return lines;
}

std::string line(const std::string& key, const std::vector<std::string>& words) {
    return "[\"" + key + "\"]=\"" + base::join(words, " ") + "\"";
}

std::string completed(const Option& option) {
    const bool wants_value = !option.argument.empty() && !option.argument_optional;
    return "--" + std::string(option.name) + (wants_value ? "=" : "");
}

TEST(Completion, KnowsEveryVerbWithItsOptions) {
    std::set<std::string> wanted;
    for (const Verb* verb : verbs()) {
        std::vector<std::string> options;
        for (const Option& option : verb->options)
            options.push_back(completed(option));
        wanted.insert(line(std::string(verb->name), options));
    }
    EXPECT_EQ(lines_of("verbs"), wanted);
}

TEST(Completion, KnowsEveryChoice) {
    std::set<std::string> wanted;
    for (const Verb* verb : verbs())
        for (const Option& option : verb->options)
            if (is_choice(option))
                wanted.insert(line("--" + std::string(option.name), base::split(option.argument, '|')));
    EXPECT_EQ(lines_of("choices"), wanted);
}

TEST(Completion, KnowsTheCommonOptions) {
    std::vector<std::string> options;
    for (const Option& option : common_options())
        options.push_back(completed(option));
    EXPECT_NE(script().find("_gpuhostctl_common=\"" + base::join(options, " ") + "\"\n"), std::string::npos);
}

} // namespace
} // namespace gpuhost::ctl
