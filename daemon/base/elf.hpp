// SPDX-License-Identifier: Apache-2.0
// Reads 64-bit little-endian ELF images that are not trusted: every offset is checked, and nothing is copied.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint32_t link = 0;
    std::string_view content; ///< empty for SHT_NOBITS
};

class Elf {
  public:
    /// Parses `image`, which must outlive the result. Fails with BadContent if it is not ELF, is truncated,
    /// or is for another architecture than this program. `what` names the file in the error.
    [[nodiscard]] static Result<Elf> parse(std::string_view image, std::string_view what);

    [[nodiscard]] std::uint16_t type() const { return type_; } ///< ET_REL, ET_DYN, …
    [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
    [[nodiscard]] const ElfSection* section(std::string_view name) const;
    /// Returns the DT_SONAME of a shared library; nullopt if it has none.
    [[nodiscard]] std::optional<std::string> soname() const;

  private:
    std::uint16_t type_ = 0;
    std::vector<ElfSection> sections_;
};

} // namespace gpuhost::base
