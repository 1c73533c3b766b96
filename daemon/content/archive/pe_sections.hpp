// SPDX-License-Identifier: Apache-2.0
// Reads the section table of a PE/COFF file, the format of UEFI programs (Microsoft's "PE Format"): where
// each section is in the file. Other parts of the headers are not read. All positions are checked.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhost::content {

struct PeSection {
    std::string name; ///< up to 8 bytes, ".initrd"
    std::uint64_t offset = 0;
    std::uint64_t size = 0; ///< without the padding in the file
};

inline constexpr std::size_t most_pe_sections = 256;

/// Returns the sections that have content in the file, in the order of the table. All are completely inside
/// the file and do not overlap. Fails with BadContent if the file is damaged or not a PE/COFF file.
[[nodiscard]] base::Result<std::vector<PeSection>> read_pe_sections(int fd, const std::string& what);

} // namespace gpuhost::content
