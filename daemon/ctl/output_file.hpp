// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

#include <sys/types.h>

namespace gpuhost::ctl {

/// A file that has its name only when it is whole. Until finish() it has none where the file system allows that, else one
/// that nobody had; without finish() nothing is left.
class OutputFile {
  public:
    [[nodiscard]] static base::Result<OutputFile> create(const std::string& path, mode_t mode = 0644);
    OutputFile(OutputFile&&) = default;
    OutputFile& operator=(OutputFile&&) = delete;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Syncs it and gives it its name, which another file may have had.
    [[nodiscard]] base::Result<void> finish();

  private:
    OutputFile() = default;
    [[nodiscard]] base::Result<void> give_temporary_name();

    std::string path_;
    mode_t mode_ = 0644;
    std::string temporary_; ///< its name until finish(); empty: none
    base::UniqueFd fd_;
};

/// "." for a bare name.
[[nodiscard]] std::string directory_of(const std::string& path);

/// With those above it, where they are not there.
[[nodiscard]] base::Result<void> make_directory(const std::string& path);

} // namespace gpuhost::ctl
