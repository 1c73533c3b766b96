// SPDX-License-Identifier: Apache-2.0
// Changes of the top-level list "imports" in a file that somebody else wrote. Everything else in it stays byte for byte:
// comments, order, line ends, a byte order mark.
//
// `what` names the file in errors. BadContent is what is no TOML, and `imports` that are no list of strings. Each result is read
// again, and is Refused where more or less changed in it than was meant; then a person has to edit the file.
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

/// `path` becomes the last element; where it is in the list already, nothing changes. A key that is not there comes behind
/// `version`, else behind the comments that the file begins with.
[[nodiscard]] base::Result<std::string> with_import(std::string_view text, std::string_view path,
                                                    std::string_view what);

/// As with_imports() with the others.
[[nodiscard]] base::Result<std::string> without_import(std::string_view text, std::string_view path,
                                                       std::string_view what);

/// The list becomes these; the elements that stay keep their places and comments. Of a list that loses its last element the
/// key goes too, unless a comment stands in the list or behind it.
[[nodiscard]] base::Result<std::string>
with_imports(std::string_view text, const std::vector<std::string>& paths, std::string_view what);

} // namespace gpuhost::runtime
