// SPDX-License-Identifier: Apache-2.0
// Parses the command line of a service. gpuhostctl's is richer: daemon/ctl/cli/verb.hpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

/// "--root=" with the place for its value, or "--peers" with the flag that it sets.
struct Argument {
    std::string_view name;
    std::string* value = nullptr;
    bool* flag = nullptr;
};

struct Program {
    std::string_view name;
    std::string_view usage; ///< the text that --help prints
};

/// Parses argv after its first word. Returns the exit status if the program must end: after --help,
/// --version, or a usage error, which it prints. Words without a dash are appended to `words`; if that is
/// null they are errors.
[[nodiscard]] std::optional<int> parse_arguments(std::span<char*> argv, const Program& program,
                                                 std::initializer_list<Argument> known,
                                                 std::vector<std::string>* words = nullptr);

} // namespace gpuhost::base
