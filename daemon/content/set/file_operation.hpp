// SPDX-License-Identifier: Apache-2.0
// One change of the file system as a value, so that a sequence of changes can be inspected, compared and
// ended early.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::content {

struct FileOperation {
    enum class Type { Link, Write, Remove } type = Type::Link;
    std::string path;
    std::string content; ///< Link: target; Write: the file's text
};

[[nodiscard]] bool is_done(const base::Root& root, const FileOperation& operation);
/// Performs the change durably and creates parent directories. Fails with AlreadyExists instead of replacing
/// what is not gpuhost's.
[[nodiscard]] base::Result<void> perform(const base::Root& root, const FileOperation& operation);

/// Returns whether gpuhost may change or remove what is at `path`. True for a missing file, a link into
/// gpuhost's state, a file marked as ours, or an empty directory.
[[nodiscard]] bool is_ours(const base::Root& root, std::string_view path);

/// First line of the files that gpuhost writes outside its own directories.
inline constexpr std::string_view file_mark = "# Written by gpuhostd; changes are lost.\n";

} // namespace gpuhost::content
