// SPDX-License-Identifier: Apache-2.0
// The information that a kernel module has about itself, read from its ELF image with every offset checked.
//
// Works on memory, so the worst effect of a hostile file is an error. Foreign modules are still parsed in
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
    std::vector<std::string> firmware;   ///< files that it may request: "nvidia/550.163.01/gsp_ga10x.bin"
    std::vector<std::string> parameters; ///< names of its parameters

    /// Returns the release that it was built for: the first word of vermagic.
    [[nodiscard]] std::string_view kernel() const;
    /// Returns "open" for NVIDIA's "Dual MIT/GPL", else "proprietary".
    [[nodiscard]] std::string_view flavour() const;
    /// Returns the names in "NVreg_A=1 nvreg-b=2" that are not its parameters. A kernel ignores them and logs
    /// a line.
    [[nodiscard]] std::vector<std::string> unknown_parameters(std::string_view text) const;
};

/// Parses `image`, the whole uncompressed .ko. Fails with BadContent, naming `what`, if it is truncated, not
/// a module, or for another architecture.
[[nodiscard]] base::Result<ModuleInfo> parse_module_info(std::string_view image, std::string_view what);

/// Returns the CRCs of the symbols that it needs from the kernel and other modules (__versions). Empty
/// without CONFIG_MODVERSIONS.
[[nodiscard]] base::Result<std::map<std::string, std::uint32_t>> parse_symbol_versions(std::string_view image,
                                                                                       std::string_view what);

} // namespace gpuhost::kmod
