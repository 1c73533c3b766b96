// SPDX-License-Identifier: Apache-2.0
// Reads the table of sections of a PE/COFF file, the format of UEFI programs (Microsoft's "PE Format"): the
// position of each section in the file. Nothing else of the headers is read, and nothing in them is trusted.
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

/// Returns the sections with content in the file, in the table's order. They are completely in the file and
/// do not overlap. Fails with BadContent if the file is damaged or of another kind.
[[nodiscard]] base::Result<std::vector<PeSection>> read_pe_sections(int fd, const std::string& what);

} // namespace gpuhost::content
