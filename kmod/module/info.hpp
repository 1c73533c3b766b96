// SPDX-License-Identifier: Apache-2.0
// What a kernel module says about itself, read from its ELF image with every offset checked.
//
// Works on memory, so that a hostile file can do no more than be refused. Foreign modules are still parsed in
// workers only.
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
    std::vector<std::string> firmware;   ///< that it may ask for: "nvidia/550.163.01/gsp_ga10x.bin"
    std::vector<std::string> parameters; ///< names of those that it takes

    /// The release that it was built for: the first word of vermagic.
    [[nodiscard]] std::string_view kernel() const;
    /// "open" for NVIDIA's "Dual MIT/GPL", else "proprietary".
    [[nodiscard]] std::string_view flavour() const;
    /// Names in "NVreg_A=1 nvreg-b=2" that it does not take. A kernel ignores them, with a line in its log.
    [[nodiscard]] std::vector<std::string> unknown_parameters(std::string_view text) const;
};

/// `image` is the whole .ko, not compressed. Truncated, not a module, not for this machine: BadContent naming
/// `what`.
[[nodiscard]] base::Result<ModuleInfo> parse_module_info(std::string_view image, std::string_view what);

/// CRCs of the symbols that it wants from the kernel and other modules (__versions); empty without
/// CONFIG_MODVERSIONS.
[[nodiscard]] base::Result<std::map<std::string, std::uint32_t>> parse_symbol_versions(std::string_view image,
                                                                                       std::string_view what);

} // namespace gpuhost::kmod
