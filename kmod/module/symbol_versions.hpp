// SPDX-License-Identifier: Apache-2.0
// Will the running kernel's symbols fit a module? Known from the kernel's own list of symbol CRCs, where it
// is installed.
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

/// Module.symvers: "0x12345678\tname\tvmlinux\tEXPORT_SYMBOL…" a line.
[[nodiscard]] SymbolVersions parse_symvers(std::string_view text);

/// Of the kernel's headers, or of /boot. Nothing if the host has neither.
[[nodiscard]] std::optional<SymbolVersions> kernel_symbol_versions(const base::Root& root,
                                                                   std::string_view kernel);

/// Symbols that the module wants with another CRC than the kernel has. One that the kernel does not have may
/// be another module's, so it is none of these.
[[nodiscard]] std::vector<std::string> differing_symbols(const SymbolVersions& kernel,
                                                         const std::map<std::string, std::uint32_t>& wanted);

} // namespace gpuhost::kmod
