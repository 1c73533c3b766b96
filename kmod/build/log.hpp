// SPDX-License-Identifier: Apache-2.0
// Reads the output of a driver build line by line: its progress, and its first error. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::kmod {

class BuildLog {
  public:
    /// `sources` is the number of .c files in the tree. `directory` is removed from paths in messages.
    BuildLog(std::size_t sources, std::string directory);

    void line(std::string_view text);

    [[nodiscard]] double fraction() const; ///< 0..1; an estimate that never decreases
    [[nodiscard]] const std::string& doing() const { return doing_; } ///< "compiling nvidia/nv-pci.o"
    /// Returns the line that names the cause ("nvidia/nv-pci.c:237:9: error: too few arguments…"), not make's
    /// last line. Empty if no line looks like an error.
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
