// SPDX-License-Identifier: Apache-2.0
// A driver on this host outside gpuhostd's store, installed by packages, DKMS or NVIDIA's installer.
#pragma once

#include "daemon/base/json.hpp"
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
    bool loaded = false; ///< the kernel runs these modules
    // Paths:
    std::vector<std::string> modules;   ///< for this kernel, also compressed
    std::vector<std::string> libraries; ///< files, not the links to them
    std::vector<std::string> programs;
    std::vector<std::string> firmware;
    std::vector<std::string> units;      ///< of services that belong to it
    std::vector<std::string> rules;      ///< of modprobe, that prevent another driver
    std::vector<std::string> sources;    ///< dkms.conf of each source that modules are built from
    std::vector<std::string> dkms;       ///< directories of DKMS, which builds it for each new kernel
    std::string uninstaller;             ///< of NVIDIA's installer; empty: another method was used
    std::vector<std::string> disturbers; ///< sentences on what may change it while it runs

    /// Returns the files of the driver itself, without units and rules.
    [[nodiscard]] std::vector<std::string> files() const;
    /// Returns all files installed with it. The packages that own any of them must be removed to remove the
    /// driver.
    [[nodiscard]] std::vector<std::string> traces() const;
};

/// Returns the driver that `kernel` would load; without modules, the driver whose libraries are installed.
/// Returns nothing if there is none. Fails with BadContent if modules of several versions are installed and
/// none is loaded: it is unknown which one modprobe would load.
[[nodiscard]] base::Result<std::optional<InstalledDriver>> find_installed_driver(const base::Root& root,
                                                                                 const std::string& kernel);

/// Returns all files to delete by hand if nothing else removes the driver. These are its files, and libraries
/// of its version for other architectures. Links beside them that lead to one of them are included, also
/// through another link ("libcuda.so.1").
[[nodiscard]] std::vector<std::string> files_to_remove(const base::Root& root, const InstalledDriver& driver);

[[nodiscard]] base::Json to_json(const InstalledDriver& driver);

} // namespace gpuhost::kmod
