// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

#include <sys/types.h>

namespace gpuhost::ctl {

/// What becomes of a file that has the name at finish().
enum class Existing { Replace, Keep };

/// A file that has its name only when it is whole. Until finish() it has none where the file system allows that, else one
/// that nobody had; without finish() nothing is left.
class OutputFile {
  public:
    [[nodiscard]] static base::Result<OutputFile> create(const std::string& path, mode_t mode = 0644,
                                                         Existing existing = Existing::Replace);
    OutputFile(OutputFile&&) = default;
    OutputFile& operator=(OutputFile&&) = delete;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Syncs it and gives it its name. With Existing::Keep, AlreadyExists where anything has that.
    [[nodiscard]] base::Result<void> finish();

  private:
    OutputFile() = default;
    [[nodiscard]] base::Result<void> replace();
    [[nodiscard]] base::Result<void> take_free_name();
    [[nodiscard]] base::Result<void> give_temporary_name();
    [[nodiscard]] std::string self() const;

    std::string path_;
    mode_t mode_ = 0644;
    Existing existing_ = Existing::Replace;
    std::string temporary_; ///< its name until finish(); empty: none
    base::UniqueFd fd_;
};

/// "." for a bare name.
[[nodiscard]] std::string directory_of(const std::string& path);

/// With those above it, where they are not there.
[[nodiscard]] base::Result<void> make_directory(const std::string& path);

} // namespace gpuhost::ctl
