// SPDX-License-Identifier: Apache-2.0
// Checks whether a kernel's symbols have the CRCs that a module needs. Uses the kernel's list of symbol CRCs
// (Module.symvers), if it is installed.
#pragma once

#include "daemon/base/root.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

using SymbolVersions = std::map<std::string, std::uint32_t, std::less<>>;

/// Parses a Module.symvers: symbol → CRC. Each line is "0x12345678\tname\tvmlinux\tEXPORT_SYMBOL…".
[[nodiscard]] SymbolVersions parse_symvers(std::string_view text);

/// Returns the kernel's list of symbol CRCs from its headers in /lib/modules/<kernel>/build, else from /boot.
/// Returns nothing if neither is installed.
[[nodiscard]] std::optional<SymbolVersions> kernel_symbol_versions(const base::Root& root,
                                                                   std::string_view kernel);

/// Returns the symbols whose CRC in `kernel` differs from that in `wanted`, the symbols that a module needs.
/// A symbol that is not in `kernel` is ignored, because another module may have it.
[[nodiscard]] std::vector<std::string> differing_symbols(const SymbolVersions& kernel,
                                                         const std::map<std::string, std::uint32_t>& wanted);

} // namespace gpuhost::kmod
