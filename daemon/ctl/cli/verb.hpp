// SPDX-License-Identifier: Apache-2.0
// A verb of gpuhostctl as a value. The value is in the file that implements the verb. The parser, --help,
// completion, and tests (also those of the man page) use only these values.
#pragma once

#include "daemon/base/result.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

class Session;

struct Option {
    std::string_view name;          ///< long name without dashes: "holders"
    std::string_view argument;      ///< "SPAN", or the choices "refuse|wait|terminate"; empty: no argument
    std::string_view help;          ///< description in --help, a phrase
    bool argument_optional = false; ///< the argument may be omitted; given only as --name=ARGUMENT
    bool repeatable = false;
    char letter = 0; ///< short option; 0: none
};

/// A command line in --help. A test parses it.
struct Example {
    std::string_view command; ///< after "gpuhostctl ", quoted for a shell
    std::string_view comment; ///< a phrase
};

struct Verb {
    std::string_view name;      ///< "driver swap"
    std::string_view arguments; ///< "VERSION", "FILE.deb…|DIRECTORY", "[ID]"
    std::string_view summary;   ///< a phrase for the list of verbs
    std::string_view details;   ///< sentences for the verb's own --help
    std::size_t least = 0;      ///< minimum number of arguments
    std::size_t most = 0;
    std::span<const Option> options; ///< without common_options(), which every verb has
    base::Result<int> (*run)(Session&);
    std::span<const Example> examples = {}; ///< a test requires at least one
};

/// A group of verbs in --help. Each family is a folder with a verbs.hpp, and a line in families().
struct Family {
    std::string_view heading; ///< section title in --help: "Drivers:"
    std::span<const Verb* const> verbs;
};

/// Returns true if the option's argument is one of several words: "a|b|c".
[[nodiscard]] constexpr bool is_choice(const Option& option) noexcept {
    return option.argument.find('|') != std::string_view::npos;
}

namespace option {
inline constexpr Option json{"json", "short|pretty", "print JSON; default: pretty on a terminal, else short",
                             true,   false,          'j'};
inline constexpr Option no_wait{"no-wait", "", "print the operation's number, or 0 for none, and return"};
inline constexpr Option dry_run{"dry-run", "", "run all checks and print the changes; change nothing"};
inline constexpr Option holders{"holders", "refuse|wait|terminate",
                                "what to do about processes that hold the driver"};
inline constexpr Option holder_timeout{"holder-timeout", "SPAN",
                                       "how long to wait for holders, such as '30s' or '5min'"};
} // namespace option

/// Returns the options that every verb accepts, also before its name. As in systemctl(1), such an option has
/// no effect on a verb for which it has no meaning.
[[nodiscard]] std::span<const Option> common_options() noexcept;
/// Returns the families in the order of --help. Defined in daemon/ctl/families.cpp, the only file that
/// includes all of them.
[[nodiscard]] std::span<const Family> families() noexcept;
/// Returns the most used verbs, in groups, for the short help.
[[nodiscard]] std::span<const Family> common_families() noexcept;
/// Returns the verb that runs if the command line names none.
[[nodiscard]] const Verb& default_verb() noexcept;
/// Returns the verbs of all families.
[[nodiscard]] std::vector<const Verb*> verbs();

} // namespace gpuhost::ctl
