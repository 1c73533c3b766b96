// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::ctl {

/// A file that has its name only when it is whole: until finish() it is PATH.part, and without it nothing is left.
class OutputFile {
  public:
    [[nodiscard]] static base::Result<OutputFile> create(const std::string& path);
    OutputFile(OutputFile&&) = default;
    OutputFile& operator=(OutputFile&&) = delete;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Syncs it and gives it its name.
    [[nodiscard]] base::Result<void> finish();

  private:
    OutputFile() = default;
    std::string path_;
    std::string made_;
    base::UniqueFd fd_;
};

} // namespace gpuhost::ctl
