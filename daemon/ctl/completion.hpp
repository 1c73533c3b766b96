// SPDX-License-Identifier: Apache-2.0
// The tables of packaging/completion/, made of the verbs. 'make completion' writes them there, and a test says when that is due:
// the files are in the source, since a build for another machine can't run what it builds.
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <optional>
#include <string>

namespace gpuhost::ctl {

/// What a word may become, as both scripts know it: "file", "file deb rpm" (of these kinds), "directory", "words a b", "kernel", or
/// what gpuhostctl lists: "driver", "image". "": nobody knows. Nothing: --help calls it by a word that the table here has not.
[[nodiscard]] std::optional<std::string> completed_by(const Option& option);
[[nodiscard]] std::optional<std::string> completed_by(const Verb& verb);

[[nodiscard]] std::string bash_tables();
[[nodiscard]] std::string zsh_tables();

/// The script with these tables in the place of its own.
[[nodiscard]] base::Result<std::string> with_tables(std::string_view script, std::string_view tables);

} // namespace gpuhost::ctl
