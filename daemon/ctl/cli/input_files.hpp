// SPDX-License-Identifier: Apache-2.0
// Opens the files that are named on the command line. The daemon gets descriptors, so it sees no path and
// follows no link of the user.
#pragma once

#include "daemon/client/client.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// Maximum number of descriptors that dbus-daemon accepts in a message. It closes the connection on more.
inline constexpr std::size_t input_file_limit = 16;

/// Opens the given files, the packages or modules of one directory, or the archive that source_directory.hpp
/// makes of a source directory. Fails if the paths are files and a directory, if there are none, if a name
/// occurs twice, or if there are more files than the limit.
[[nodiscard]] base::Result<std::vector<client::InputFile>>
open_input_files(std::span<const std::string> paths);

/// Opens packages or archives. Their kind is detected from their content.
[[nodiscard]] base::Result<std::vector<client::InputFile>>
open_package_files(std::span<const std::string> paths);

} // namespace gpuhost::ctl
