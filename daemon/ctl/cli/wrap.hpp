// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Breaks one line of text at blanks into lines of at most `columns`, without a newline at the end. The first line begins at
/// column `at`, the others with as many blanks as `indent`. A command, as in "Do it: gpuhostctl apply", stays whole, even where
/// it does not fit: a person copies it.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t columns, std::size_t at,
                               std::size_t indent);

} // namespace gpuhost::ctl
