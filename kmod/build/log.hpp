// SPDX-License-Identifier: Apache-2.0
// What a driver build says, read line by line: how far it is, and what first went wrong. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::kmod {

class BuildLog {
  public:
    /// `sources` is the number of .c files in the tree; `directory` is cut off from paths in messages.
    BuildLog(std::size_t sources, std::string directory);

    void line(std::string_view text);

    [[nodiscard]] double fraction() const; ///< 0..1; an estimate that never goes back
    [[nodiscard]] const std::string& doing() const { return doing_; } ///< "compiling nvidia/nv-pci.o"
    /// The line that a person needs ("nvidia/nv-pci.c:237:9: error: too few arguments…"), not make's own last
    /// word. Empty if nothing looked like an error.
    [[nodiscard]] const std::string& first_error() const { return first_error_; }

  private:
    [[nodiscard]] std::string shorten(std::string_view text) const;

    std::size_t sources_;
    std::string directory_;
    std::size_t tests_ = 0;
    std::size_t objects_ = 0;
    std::string doing_ = "preparing";
    std::string first_error_;
};

} // namespace gpuhost::kmod
