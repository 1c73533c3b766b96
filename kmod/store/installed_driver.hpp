// SPDX-License-Identifier: Apache-2.0
// A driver on this host that is not of gpuhostd's store: what packages, DKMS or NVIDIA's installer brought.
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
    std::vector<std::string> modules;   ///< for this kernel, also packed
    std::vector<std::string> libraries; ///< files, not the links to them
    std::vector<std::string> programs;
    std::vector<std::string> firmware;
    std::vector<std::string> units;      ///< of services that come with it
    std::vector<std::string> rules;      ///< of modprobe, that stand in the way of another driver
    std::vector<std::string> sources;    ///< dkms.conf of each source that modules are built from
    std::vector<std::string> dkms;       ///< directories of DKMS, which builds it for each new kernel
    std::string uninstaller;             ///< of NVIDIA's installer; empty: it did not come that way
    std::vector<std::string> disturbers; ///< what may change it while it runs, as sentences

    /// Those that make a driver of it, without units and rules.
    [[nodiscard]] std::vector<std::string> files() const;
    /// All that came with it: whoever owns one of these has to go for it to be gone.
    [[nodiscard]] std::vector<std::string> traces() const;
};

/// What `kernel` would run, or, with no modules for it, whose libraries are there. Nothing: there is no such driver. BadContent
/// where modules of several versions are installed and none of them is loaded: nobody knows which one modprobe takes.
[[nodiscard]] base::Result<std::optional<InstalledDriver>> find_installed_driver(const base::Root& root,
                                                                                 const std::string& kernel);

/// All that has to go by hand where nothing else takes the driver away: its files, libraries of its version for other
/// architectures, and the links beside these that lead to one of them, also over another such link ("libcuda.so.1").
[[nodiscard]] std::vector<std::string> files_to_remove(const base::Root& root, const InstalledDriver& driver);

[[nodiscard]] base::Json to_json(const InstalledDriver& driver);

} // namespace gpuhost::kmod
