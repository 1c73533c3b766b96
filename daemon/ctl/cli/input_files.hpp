// SPDX-License-Identifier: Apache-2.0
// Opens the files that are named on the command line. gpuhostd receives only their descriptors, so it opens
// no path and follows no symbolic link of the user.
#pragma once

#include "daemon/client/client.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::ctl {

/// The number of descriptors that dbus-daemon accepts in one message. If there are more, it closes the
/// connection.
inline constexpr std::size_t input_file_limit = 16;

/// Opens the given files, the packages or modules in one directory, or the archive that source_directory.hpp
/// makes of a source directory. Fails if files and a directory are mixed, if no file is found, if a name
/// occurs twice, or if there are more files than the limit.
[[nodiscard]] base::Result<std::vector<client::InputFile>>
open_input_files(std::span<const std::string> paths);

/// Opens packages or archives. gpuhostd detects their kind from their content, so their names do not matter.
[[nodiscard]] base::Result<std::vector<client::InputFile>>
open_package_files(std::span<const std::string> paths);

} // namespace gpuhost::ctl
