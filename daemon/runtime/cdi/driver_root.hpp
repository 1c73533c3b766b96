// SPDX-License-Identifier: Apache-2.0
// What of a driver's userland a container gets: which files, and where each stands on the host and in the container.
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
    std::vector<std::string> library_directories; ///< in the container: where the driver's own libraries are
    std::vector<DriverFile> libraries;
    std::vector<DriverLink> links;
    std::vector<DriverFile>
        graphics; ///< libraries of EGL's platforms, modules and configuration of X.Org, Vulkan, …
    std::vector<DriverLink> graphics_links;
    std::vector<DriverFile> firmware;
    std::vector<DriverFile> programs;
    std::vector<DriverFile> sockets; ///< of persistenced and the fabric manager
};

/// The directory of the userland that the host runs, if gpuhostd has selected one: its own place, which never
/// changes, and not the link by which the host finds it. An error where there is one that can't be read.
[[nodiscard]] base::Result<std::optional<std::string>> selected_userland(const base::Root& host);

/// Of the driver's daemons that run: how containers reach them.
[[nodiscard]] std::vector<std::string> driver_sockets(const base::Root& host);

/// Of such a directory. In a container libraries stand where Debian has them, programs in /usr/bin.
[[nodiscard]] base::Result<DriverFiles> read_userland(const base::Root& host, const std::string& userland);

/// Of a driver that a distribution or NVIDIA's installer has put below `driver_root` ("/"), found by the names of its
/// files. They stand in a container where they do below that root.
[[nodiscard]] base::Result<DriverFiles> find_driver(const base::Root& host, const std::string& driver_root);

} // namespace gpuhost::runtime
