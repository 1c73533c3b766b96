// SPDX-License-Identifier: Apache-2.0
// Edits the top-level list "imports" in another program's file. All other bytes stay: comments, order, line
// ends, a byte order mark.
//
// `what` names the file in errors. The functions fail with BadContent for invalid TOML, and if `imports` is
// not a list of strings. They parse the edited text again, and fail with Refused if it does not differ
// exactly as intended. An administrator then has to edit the file.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// Appends `path`, unless the list contains it already. A missing key "imports" is added before the key
/// "version", else at the begin of the file.
[[nodiscard]] base::Result<std::string> with_import(std::string_view text, std::string_view path,
                                                    std::string_view what);

/// Removes `path` from the list. If `path` is the only element, removes the key, unless there is a comment.
[[nodiscard]] base::Result<std::string> without_import(std::string_view text, std::string_view path,
                                                       std::string_view what);

/// Replaces the list, and loses its comments. The function is for copies of a file.
[[nodiscard]] base::Result<std::string>
with_imports(std::string_view text, const std::vector<std::string>& paths, std::string_view what);

} // namespace gpuhost::runtime
