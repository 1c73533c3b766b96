// SPDX-License-Identifier: Apache-2.0
// The output of another program, stored up to a limit.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

class LogFile {
  public:
    /// Creates the file and its directory. Replaces an existing file.
    [[nodiscard]] static base::Result<LogFile> create(const base::Root& root, const std::string& path);
    void line(std::string_view text); ///< ignores write errors: a full disk ends the program too

  private:
    explicit LogFile(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
    std::size_t room_ = 16U << 20U; // a hundred times the output of a build
};

} // namespace gpuhost::kmod
