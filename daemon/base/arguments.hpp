// SPDX-License-Identifier: Apache-2.0
// The command line of a service. gpuhostctl's is richer: daemon/ctl/cli/verb.hpp.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

/// "--root=" with where its value goes, or "--peers" with what it switches on.
struct Argument {
    std::string_view name;
    std::string* value = nullptr;
    bool* flag = nullptr;
};

struct Program {
    std::string_view name;
    std::string_view usage; ///< what --help prints
};

/// argv after its first word. The exit status when there is nothing more to do: --help, --version, or what it does not
/// know, which it says. Words without a dash go to `words`; where that is null there are to be none.
[[nodiscard]] std::optional<int> parse_arguments(std::span<char*> argv, const Program& program,
                                                 std::initializer_list<Argument> known,
                                                 std::vector<std::string>* words = nullptr);

} // namespace gpuhost::base
