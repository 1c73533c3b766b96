// SPDX-License-Identifier: Apache-2.0
// The table of a PE/COFF file's sections, which is what UEFI runs (Microsoft's "PE Format"): where a section lies in the file.
// Of headers nothing else is looked at, and nothing in them is trusted.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::content {

struct PeSection {
    std::string name; ///< up to 8 bytes, ".initrd"
    std::uint64_t offset = 0;
    std::uint64_t size = 0; ///< without what it is filled up with in the file
};

inline constexpr std::size_t most_pe_sections = 256;

/// Those that have something in the file, in the table's order; they lie in it wholly, and no two in the same place.
/// BadContent: no such file, or a damaged one.
[[nodiscard]] base::Result<std::vector<PeSection>> read_pe_sections(int fd, const std::string& what);

} // namespace gpuhost::content
