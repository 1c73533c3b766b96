// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

#include <sys/types.h>

namespace gpuhost::ctl {

/// Behaviour of finish() if a file with this name exists.
enum class Existing { Replace, Keep };

/// A file that gets its name only when it is complete. Until finish() it has no name (O_TMPFILE) or, if the
/// file system does not support that, a unique temporary name. Without finish() no file remains.
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
    /// Syncs the file and gives it its name. With Existing::Keep, fails with AlreadyExists if the name
    /// exists.
    [[nodiscard]] base::Result<void> finish();

  private:
    OutputFile() = default;
    [[nodiscard]] base::Result<void> replace();
    [[nodiscard]] base::Result<void> create_unique();
    [[nodiscard]] base::Result<void> give_temporary_name();
    [[nodiscard]] std::string self() const;

    std::string path_;
    mode_t mode_ = 0644;
    Existing existing_ = Existing::Replace;
    std::string temporary_; ///< temporary name until finish(); empty: none
    base::UniqueFd fd_;
};

/// Returns the directory part of a path; "." if the path has no slash.
[[nodiscard]] std::string directory_of(const std::string& path);

/// Creates the directory and its missing parents.
[[nodiscard]] base::Result<void> make_directory(const std::string& path);

} // namespace gpuhost::ctl
