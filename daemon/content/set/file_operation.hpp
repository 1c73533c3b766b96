// SPDX-License-Identifier: Apache-2.0
// One change of the file system as a value, so that an order of changes can be looked at, compared and cut
// short.
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
/// Durable when it returns; makes the directories above. AlreadyExists rather than replace what is not
/// gpuhost's.
[[nodiscard]] base::Result<void> perform(const base::Root& root, const FileOperation& operation);

/// May gpuhost change or remove what stands at `path`? Nothing, a link into gpuhost's state, a file marked as
/// ours, an empty directory.
[[nodiscard]] bool is_ours(const base::Root& root, std::string_view path);

/// First line of the files that gpuhost writes outside of its own directories.
inline constexpr std::string_view file_mark = "# Written by gpuhostd; changes are lost.\n";

} // namespace gpuhost::content
