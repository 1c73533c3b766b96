// SPDX-License-Identifier: Apache-2.0
// Reads the output of a driver build line by line. Derives the progress of the build and its first error.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::kmod {

class BuildLog {
  public:
    /// `sources` is the number of .c files in the source. `directory` is the source's directory, which is
    /// removed from the beginning of paths in messages.
    BuildLog(std::size_t sources, std::string directory);

    /// Evaluates one line of the output.
    void line(std::string_view text);

    [[nodiscard]] double fraction() const; ///< 0 to 1: estimated, and never decreases
    /// The current action: "compiling nvidia/nv-pci.o".
    [[nodiscard]] const std::string& doing() const { return doing_; }
    /// Returns the first line with an error: "nvidia/nv-pci.c:237:9: error: too few arguments…". It is more
    /// useful than the last line, which is from make. Empty if no line looks like an error.
    [[nodiscard]] const std::string& first_error() const { return first_error_; }

  private:
    [[nodiscard]] std::string shorten(std::string_view text) const;

    std::size_t sources_;
    std::string directory_;
    std::size_t tests_ = 0;   ///< conftest's tests of the kernel so far
    std::size_t objects_ = 0; ///< object files compiled so far
    std::string doing_ = "preparing";
    std::string first_error_;
};

} // namespace gpuhost::kmod
