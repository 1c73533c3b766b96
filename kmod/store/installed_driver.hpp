// SPDX-License-Identifier: Apache-2.0
// Finds a driver that is installed on this host outside of gpuhost's store: by packages, DKMS or NVIDIA's
// installer.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct InstalledDriver {
    std::string version;
    std::string kernel;
    std::string flavour; ///< "open" or "proprietary"; empty without modules
    bool loaded = false; ///< these modules are loaded
    // The following are paths.
    std::vector<std::string> modules;   ///< module files for `kernel`, also compressed ones
    std::vector<std::string> libraries; ///< files of libraries, without links to them
    std::vector<std::string> programs;
    std::vector<std::string> firmware;
    std::vector<std::string> units;   ///< unit files of services that belong to the driver
    std::vector<std::string> rules;   ///< files of modprobe that prevent the load of another driver
    std::vector<std::string> sources; ///< dkms.conf of each source of this version in /usr/src
    /// Directories in /var/lib/dkms: DKMS builds the driver for each new kernel.
    std::vector<std::string> dkms;
    /// nvidia-uninstall of NVIDIA's installer; empty: the driver was installed in another way.
    std::string uninstaller;
    /// Not paths: sentences about programs that may change the driver while it is loaded.
    std::vector<std::string> disturbers;

    /// Returns modules, libraries, programs and firmware.
    [[nodiscard]] std::vector<std::string> files() const;
    /// Returns files(), and units, rules and sources. To remove the driver, the packages that own any of them
    /// must be removed.
    [[nodiscard]] std::vector<std::string> traces() const;
};

/// Returns the driver that `kernel` would load. If no modules are installed, returns the driver whose
/// libraries are installed. Returns nothing if there is no driver. Fails with BadContent if several nvidia
/// modules are installed and none is loaded, because it is unknown which one modprobe would load.
[[nodiscard]] base::Result<std::optional<InstalledDriver>> find_installed_driver(const base::Root& root,
                                                                                 const std::string& kernel);

/// Returns all paths to delete by hand if neither a package manager nor an uninstaller removes the driver.
/// These are its files(), and libraries of its version in the other library directories. Links in the same
/// directories that lead to one of them are included ("libcuda.so.1"), also through another link.
[[nodiscard]] std::vector<std::string> files_to_remove(const base::Root& root, const InstalledDriver& driver);

[[nodiscard]] base::Json to_json(const InstalledDriver& driver);

} // namespace gpuhost::kmod
