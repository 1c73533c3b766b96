// SPDX-License-Identifier: Apache-2.0
// Builds the tables of packaging/completion/ from the verbs. 'make completion' writes them, and a test fails
// if they are out of date. The files are in the source because a cross build can't run the program that it
// builds.
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <optional>
#include <string>

namespace gpuhost::ctl {

/// Returns how to complete a word, in the format of both scripts: "file", "file deb rpm" (only these kinds),
/// "directory", "words a b", "kernel", or a list of gpuhostctl's: "driver", "image". Empty: no completion is
/// possible. No value: --help uses a placeholder that the table does not have.
[[nodiscard]] std::optional<std::string> completed_by(const Option& option);
[[nodiscard]] std::optional<std::string> completed_by(const Verb& verb);

[[nodiscard]] std::string bash_tables();
[[nodiscard]] std::string zsh_tables();

/// Returns the script with its tables replaced.
[[nodiscard]] base::Result<std::string> with_tables(std::string_view script, std::string_view tables);

} // namespace gpuhost::ctl
