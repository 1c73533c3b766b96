// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/help.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>
#include <string>
#include <vector>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr Option all_option{"all", "", "list all verbs"};
constexpr std::array options{all_option};
constexpr std::array examples{Example{"help driver swap", "describe a verb"},
                              Example{"help driver", "list the verbs of drivers"},
                              Example{"help --all", "list all verbs"}};

/// Returns what `gpuhostctl WORDS --help` prints.
Result<std::string> help_about(const Screen& screen, std::vector<std::string> words) {
    words.emplace_back("--help");
    GPUHOST_TRY(about, Arguments::parse(words));
    if (!about.words().empty())
        return base::fail(Errc::InvalidArgument,
                          "unknown verb '" + base::join({words.begin(), words.end() - 1}, " ") + "'",
                          "List all verbs: gpuhostctl help --all.");
    return help_for(screen, about);
}

Result<int> run(Session& session) {
    const std::vector<std::string>& words = session.arguments().words();
    const bool all = session.arguments().has(all_option);
    if (all && !words.empty())
        return base::fail(Errc::InvalidArgument, "--all cannot be used with a verb",
                          "Leave out one of them.");
    GPUHOST_TRY(text, all ? Result<std::string>(full_help(session.out())) : help_about(session.out(), words));
    session.page(text);
    return 0;
}

} // namespace

const Verb help_verb{
    "help",
    "[VERB…]",
    "describe a verb, or list verbs",
    "Describes a verb with its options and examples. With the first word of a verb only, such as 'driver', "
    "it lists the verbs of that noun. Without a verb it prints the most used ones.",
    0,
    2,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
