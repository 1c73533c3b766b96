// SPDX-License-Identifier: Apache-2.0
// What a verb of gpuhostctl is. One such value a verb, in the file that runs it; parsing, --help, completion
// and the tests of both and of the man page are made from these values and from nothing else.
#pragma once

#include "daemon/base/result.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhost::ctl {

class Session;

struct Option {
    std::string_view name;          ///< "holders": long, without its dashes
    std::string_view argument;      ///< "SPAN", or the choices: "refuse|wait|terminate"; empty: takes none
    std::string_view help;          ///< one phrase
    bool argument_optional = false; ///< then only as --name=ARGUMENT
    bool repeatable = false;
    char letter = 0; ///< short form; 0: none
};

struct Verb {
    std::string_view name;      ///< "driver swap"
    std::string_view arguments; ///< "VERSION", "FILE.deb…|DIRECTORY", "[ID]"
    std::string_view summary;   ///< one phrase, for the list of verbs
    std::string_view details;   ///< sentences, for the verb's own --help
    std::size_t least = 0;      ///< arguments
    std::size_t most = 0;
    std::span<const Option> options; ///< its own; common_options() come on top
    base::Result<int> (*run)(Session&);
};

/// Verbs that stand together in --help. Each family is a folder with a verbs.hpp, and a line in families().
struct Family {
    std::string_view heading; ///< of its section in --help: "Drivers:"
    std::span<const Verb* const> verbs;
};

/// A word that --help, completion and messages treat as a choice: "a|b|c".
[[nodiscard]] constexpr bool is_choice(const Option& option) noexcept {
    return option.argument.find('|') != std::string_view::npos;
}

namespace option {
inline constexpr Option json{"json", "short|pretty", "print JSON instead of text; short is one line", true};
inline constexpr Option no_wait{"no-wait", "", "print the operation's number, 0 for none, at once"};
inline constexpr Option dry_run{"dry-run", "", "check on the host and print what would be done"};
inline constexpr Option holders{"holders", "refuse|wait|terminate",
                                "what to do about processes that hold the driver"};
inline constexpr Option holder_timeout{"holder-timeout", "SPAN",
                                       "how long to wait for holders, as '30s' or '5min'"};
} // namespace option

/// --help, --version, --no-ask-password: understood by every verb, and before it.
[[nodiscard]] std::span<const Option> common_options() noexcept;
/// In the order in which --help lists them.
/// Defined in daemon/ctl/families.cpp, which alone includes every family.
[[nodiscard]] std::span<const Family> families() noexcept;
/// Of all families.
[[nodiscard]] std::vector<const Verb*> verbs();

} // namespace gpuhost::ctl
