// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Breaks a text at blanks into lines of at most `columns`, without a line feed at the end. The first line
/// begins at column `at`, the others with `indent` blanks. A command, as in "Do it: gpuhostctl apply", is
/// never broken, even if it is too long, because users copy it.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t columns, std::size_t at,
                               std::size_t indent);

} // namespace gpuhost::ctl
