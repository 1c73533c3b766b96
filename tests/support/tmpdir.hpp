// SPDX-License-Identifier: Apache-2.0
// A temporary directory of a test, removed with it.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::tests {

class TempDir {
  public:
    TempDir(); ///< created below $TMPDIR; a failure ends the program
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string path(std::string_view relative) const;
    /// Returns the directory as a host's "/".
    [[nodiscard]] base::Root root() const;
    /// Writes a file and the directories above it.
    void write(std::string_view relative, std::string_view content) const;
    [[nodiscard]] std::string read(std::string_view relative) const; ///< empty if the file does not exist

  private:
    std::string path_;
};

} // namespace gpuhost::tests
