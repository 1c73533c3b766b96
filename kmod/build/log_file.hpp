// SPDX-License-Identifier: Apache-2.0
// What another program says, kept up to a limit.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

class LogFile {
  public:
    /// In the place of one that is there; makes its directory.
    [[nodiscard]] static base::Result<LogFile> create(const base::Root& root, const std::string& path);
    void line(std::string_view text); ///< one that can't be written is lost: a full disk ends the program too

  private:
    explicit LogFile(base::UniqueFd fd) : fd_(std::move(fd)) {}
    base::UniqueFd fd_;
    std::size_t room_ = 16U << 20U; // a hundred times what a build says
};

} // namespace gpuhost::kmod
