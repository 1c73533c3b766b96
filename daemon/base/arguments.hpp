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

/// One option: "--root=" with `value`, which receives the text after it, or "--peers" with `flag`, which
/// becomes true.
struct Argument {
    std::string_view name;
    std::string* value = nullptr;
    bool* flag = nullptr;
};

struct Program {
    std::string_view name;
    std::string_view usage; ///< the text that --help prints
};

/// Parses the arguments after argv[0]. Executes --help and --version, and prints usage errors: then returns
/// the program's exit status. Returns nullopt if the program must continue. Words without a dash are appended
/// to `words`; if `words` is null, they are usage errors.
[[nodiscard]] std::optional<int> parse_arguments(std::span<char*> argv, const Program& program,
                                                 std::initializer_list<Argument> known,
                                                 std::vector<std::string>* words = nullptr);

} // namespace gpuhost::base
