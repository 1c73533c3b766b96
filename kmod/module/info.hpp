// SPDX-License-Identifier: Apache-2.0
// Reads the information in the .modinfo section of a kernel module from its ELF file. All offsets in the file
// are checked.
//
// The parser works on memory, so a hostile file can only cause an error. Modules from outside are
// nevertheless parsed only in workers.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

struct ModuleInfo {
    std::string name;
    std::string version;
    std::string srcversion;
    std::string vermagic;
    std::string license;
    std::vector<std::string> depends;
    /// Firmware files that it may request: "nvidia/550.163.01/gsp_ga10x.bin".
    std::vector<std::string> firmware;
    std::vector<std::string> parameters; ///< names of its parameters

    /// Returns the release of the kernel that the module was built for: the first word of vermagic.
    [[nodiscard]] std::string_view kernel() const;
    /// Returns "open" if the license is "Dual MIT/GPL", as it is for NVIDIA's open modules; else
    /// "proprietary".
    [[nodiscard]] std::string_view flavour() const;
    /// Returns the names in `text`, such as "NVreg_A=1 nvreg-b=2", that are not parameters of this module.
    /// The kernel ignores such parameters and logs them.
    [[nodiscard]] std::vector<std::string> unknown_parameters(std::string_view text) const;
};

/// Parses `image`, the content of a whole uncompressed .ko file. `what` names it in errors. Fails with
/// BadContent if it is truncated, not a module, or for another architecture.
[[nodiscard]] base::Result<ModuleInfo> parse_module_info(std::string_view image, std::string_view what);

/// Returns the symbols that a module needs from the kernel and from other modules, with their CRCs (section
/// __versions). Empty if it was built without CONFIG_MODVERSIONS.
[[nodiscard]] base::Result<std::map<std::string, std::uint32_t>> parse_symbol_versions(std::string_view image,
                                                                                       std::string_view what);

} // namespace gpuhost::kmod
