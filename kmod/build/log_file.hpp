// SPDX-License-Identifier: Apache-2.0
// Stores the output of another program in a file, up to a size limit.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

class LogFile {
  public:
    /// Creates the file and its directory. Replaces an existing file.
    [[nodiscard]] static base::Result<LogFile> create(const base::Root& root, const std::string& path);
    void line(std::string_view text); ///< ignores write errors: on a full disk, the program itself fails too

  private:
    explicit LogFile(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
    // Bytes that may still be written; a build writes about a hundredth of this limit.
    std::size_t room_ = 16U << 20U;
};

} // namespace gpuhost::kmod
