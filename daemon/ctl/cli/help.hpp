// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/arguments.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Returns the most used verbs, one line each, and where to find the others.
[[nodiscard]] std::string short_help(const Screen& screen);
/// Returns the examples of short_help().
[[nodiscard]] std::span<const Example> short_examples() noexcept;
/// Returns the list of all verbs.
[[nodiscard]] std::string full_help(const Screen& screen);
/// Returns the verbs that begin with `noun`, such as "driver".
[[nodiscard]] std::string noun_help(const Screen& screen, std::string_view noun);
/// Returns the description of a verb: its options and examples.
[[nodiscard]] std::string verb_help(const Screen& screen, const Verb& verb);

/// Returns the one of these that --help prints for a command line.
[[nodiscard]] std::string help_for(const Screen& screen, const Arguments& arguments);

} // namespace gpuhost::ctl
