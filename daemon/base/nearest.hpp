// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::base {

/// Returns the candidate most similar to a mistyped word, whose capitals do not matter. Empty if none is
/// similar.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace gpuhost::base
