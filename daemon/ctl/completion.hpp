// SPDX-License-Identifier: Apache-2.0
// Builds the tables of the shell completion scripts in packaging/completion/ from the verbs. 'make
// completion' writes them into the scripts, and a test fails if they are out of date. The scripts are in the
// source tree because a cross build can't run the program that it builds.
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <optional>
#include <string>

namespace gpuhost::ctl {

/// Returns how to complete the argument of an option or a verb, in the format of both scripts. The forms are
/// "file", "file deb rpm" (only these kinds), "directory", "words a b" and "kernel". Another word, such as
/// "driver" or "image", names a list that gpuhostctl prints. Returns an empty text if the argument can't be
/// completed. Returns nullopt if the table in completion.cpp lacks the argument's placeholder in --help.
[[nodiscard]] std::optional<std::string> completed_by(const Option& option);
[[nodiscard]] std::optional<std::string> completed_by(const Verb& verb);

[[nodiscard]] std::string bash_tables();
[[nodiscard]] std::string zsh_tables();

/// Returns the script with its tables replaced by `tables`.
[[nodiscard]] base::Result<std::string> with_tables(std::string_view script, std::string_view tables);

} // namespace gpuhost::ctl
