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

/// The files of a driver that the command line names. gpuhostd imports the packages in one operation, and the
/// modules in another one.
struct DriverInputFiles {
    std::vector<std::string> packages; ///< paths
    std::vector<std::string> modules;  ///< paths
    std::string source;                ///< a source directory (source_directory.hpp), instead of files

    /// Returns the driver versions in the names of the packages, newest first. A name may contain none.
    [[nodiscard]] std::vector<std::string> versions() const;
    /// Removes the packages that have another version in their names.
    void keep(const std::string& version);
};

/// Finds the given files, and the packages and modules in given directories. Fails if a file is neither a
/// package nor a module, if a directory has none, or if a source directory is not the only argument.
[[nodiscard]] base::Result<DriverInputFiles> find_driver_files(std::span<const std::string> paths);

/// Opens the files, as one list for each import, packages first. Fails if a name occurs twice, or if there
/// are more files than the limit.
[[nodiscard]] base::Result<std::vector<std::vector<client::InputFile>>>
open_driver_files(const DriverInputFiles& files);

/// Opens packages or archives. gpuhostd detects their kind from their content, so their names do not matter.
[[nodiscard]] base::Result<std::vector<client::InputFile>>
open_package_files(std::span<const std::string> paths);

} // namespace gpuhost::ctl
