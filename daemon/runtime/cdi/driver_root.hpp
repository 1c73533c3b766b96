// SPDX-License-Identifier: Apache-2.0
// The user-space files of a driver that a container gets, with their paths on the host and in the container.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct DriverFile {
    std::string host;
    std::string container;
    friend bool operator==(const DriverFile&, const DriverFile&) = default;
};

/// A symbolic link that a container needs beside the files.
struct DriverLink {
    std::string target;
    std::string path; ///< in the container
    friend bool operator==(const DriverLink&, const DriverLink&) = default;
};

struct DriverFiles {
    std::string version;
    /// Directories in the container with the driver's libraries.
    std::vector<std::string> library_directories;
    std::vector<DriverFile> libraries;
    std::vector<DriverLink> links;
    /// Libraries for EGL's platforms, modules and configuration of X.Org, Vulkan, …
    std::vector<DriverFile> graphics;
    std::vector<DriverLink> graphics_links;
    std::vector<DriverFile> firmware;
    std::vector<DriverFile> programs;
    std::vector<DriverFile> sockets; ///< of persistenced and the fabric manager
};

/// Returns the directory of the userland that gpuhostd has selected: libraries and programs of one driver
/// version in gpuhost's store. nullopt if none is selected. Links are resolved, so the files in the returned
/// directory never change. Fails if the selection cannot be read.
[[nodiscard]] base::Result<std::optional<std::string>> selected_userland(const base::Root& host);

/// Returns the sockets of the driver's daemons that run now; containers reach the daemons through them.
[[nodiscard]] std::vector<std::string> driver_sockets(const base::Root& host);

/// Reads the userland in the directory `userland`. In a container its libraries are in Debian's library
/// directory and its programs in /usr/bin.
[[nodiscard]] base::Result<DriverFiles> read_userland(const base::Root& host, const std::string& userland);

/// Searches by file names for a driver that a distribution or NVIDIA's installer put below `driver_root`
/// ("/"). In a container the files have the same paths as below that root. Fails with NotFound if there is
/// none.
[[nodiscard]] base::Result<DriverFiles> find_driver(const base::Root& host, const std::string& driver_root);

/// Returns the files of the userland that gpuhostd has selected, else of a driver below "/".
[[nodiscard]] base::Result<DriverFiles> present_driver(const base::Root& host);
/// Returns the path of NVIDIA's management library on the host. Fails with NotFound if the driver has none.
[[nodiscard]] base::Result<std::string> nvml_library(const DriverFiles& driver);
/// Returns the library of the driver that is loaded, as NVML fails with the modules of another version. If
/// the present driver is another one, searches in gpuhost's store. Fails with NotFound if there is none.
[[nodiscard]] base::Result<std::string> loaded_nvml_library(const base::Root& host);

} // namespace gpuhost::runtime
