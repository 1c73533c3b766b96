// SPDX-License-Identifier: Apache-2.0
// Parses the command line of a service such as gpuhostd. gpuhostctl has a parser of its own:
// daemon/ctl/cli/verb.hpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

/// One option. An option with `value` has a name such as "--root="; `value` receives the text after the name.
/// An option with `flag` has a name such as "--peers"; `flag` becomes true.
struct Argument {
    std::string_view name;
    std::string* value = nullptr;
    bool* flag = nullptr;
};

struct Program {
    std::string_view name;
    std::string_view usage; ///< the text that --help prints
};

/// Parses the arguments after argv[0]. Returns nullopt if the program must continue. Handles --help,
/// --version and usage errors itself: prints a text and returns the program's exit status. Words without a
/// dash are appended to `words`; if `words` is null, they are usage errors.
[[nodiscard]] std::optional<int> parse_arguments(std::span<char*> argv, const Program& program,
                                                 std::initializer_list<Argument> known,
                                                 std::vector<std::string>* words = nullptr);

} // namespace gpuhost::base
