// SPDX-License-Identifier: Apache-2.0
// Edits the top-level list "imports" in another program's file. All other bytes stay: comments, order, line
// ends, a byte order mark.
//
// `what` names the file in errors. The functions fail with BadContent for invalid TOML, and if `imports` is
// not a list of strings. They parse the result again, and fail with Refused if the change is not exactly the
// intended one. A person then has to edit the file.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Appends `path`, unless the list contains it. A missing key is added after `version`, else after the
/// leading comments.
[[nodiscard]] base::Result<std::string> with_import(std::string_view text, std::string_view path,
                                                    std::string_view what);

/// Removes `path`, with the rules of with_imports().
[[nodiscard]] base::Result<std::string> without_import(std::string_view text, std::string_view path,
                                                       std::string_view what);

/// Sets the list. Remaining elements keep their places and comments. Removes the key with its last element,
/// unless there is a comment in or after the list.
[[nodiscard]] base::Result<std::string>
with_imports(std::string_view text, const std::vector<std::string>& paths, std::string_view what);

} // namespace gpuhost::runtime
