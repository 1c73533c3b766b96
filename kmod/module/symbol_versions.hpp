// SPDX-License-Identifier: Apache-2.0
// Checks whether the running kernel's symbols match those of a module, from the kernel's own list of symbol
// CRCs, if installed.
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

/// Parses Module.symvers. Each line is "0x12345678\tname\tvmlinux\tEXPORT_SYMBOL…".
[[nodiscard]] SymbolVersions parse_symvers(std::string_view text);

/// Reads the list from the kernel's headers, else from /boot. Returns nothing if the host has neither.
[[nodiscard]] std::optional<SymbolVersions> kernel_symbol_versions(const base::Root& root,
                                                                   std::string_view kernel);

/// Returns symbols that the module needs with another CRC than the kernel has. A symbol that the kernel lacks
/// may be another module's, so it does not count.
[[nodiscard]] std::vector<std::string> differing_symbols(const SymbolVersions& kernel,
                                                         const std::map<std::string, std::uint32_t>& wanted);

} // namespace gpuhost::kmod
