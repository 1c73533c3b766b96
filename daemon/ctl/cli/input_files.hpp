// SPDX-License-Identifier: Apache-2.0
// What a person names on the command line as descriptors: the daemon sees no path and follows no link of
// theirs.
#pragma once

#include "daemon/client/client.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// As many descriptors as dbus-daemon lets through in one message. More, and it closes the connection.
inline constexpr std::size_t input_file_limit = 16;

/// Files as given, or all packages or else all modules of one directory, or what source_directory.hpp makes of one. Both kinds at once, none, the same
/// name twice or more than the limit is an error.
[[nodiscard]] base::Result<std::vector<InputFile>> open_input_files(std::span<const std::string> paths);

/// Packages or archives of whatever kind, which those say themselves.
[[nodiscard]] base::Result<std::vector<InputFile>> open_package_files(std::span<const std::string> paths);

} // namespace gpuhost::ctl
