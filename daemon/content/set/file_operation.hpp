// SPDX-License-Identifier: Apache-2.0
// One change of the file system as a value. A sequence of such changes can be shown before it runs, compared,
// and stopped at any element.
//
// The steps that write files on the host share this value and perform(), and not a step files.replace. Their
// rules differ: packages.repositories lets apt read a file before it exists, images.mirrors continues after
// a file that fails, and toolkit.select restores the file and the link in an order in which containers can
// start. A generic step would need each of these rules as an argument.
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

/// Returns true if the file system already has the state that the operation creates.
[[nodiscard]] bool is_done(const base::Root& root, const FileOperation& operation);
/// Performs the change, syncs it, and creates missing parent directories. Fails with AlreadyExists if the
/// path has a file for which is_ours() returns false.
[[nodiscard]] base::Result<void> perform(const base::Root& root, const FileOperation& operation);

/// Returns true if gpuhost may replace or remove the file at `path`. This is so for a path in
/// /var/lib/gpuhost, a link to such a path, a file that begins with file_mark, an empty directory, and a
/// missing file.
[[nodiscard]] bool is_ours(const base::Root& root, std::string_view path);

/// First line of the files that gpuhost writes outside its own directories.
inline constexpr std::string_view file_mark = "# Written by gpuhostd; changes are lost.\n";

} // namespace gpuhost::content
