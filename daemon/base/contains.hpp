// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>

namespace gpuhost::base {

/// Returns true if an element of `range` equals `value`.
template <class Range, class Value>
[[nodiscard]] constexpr bool contains(const Range& range, const Value& value) {
    return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

} // namespace gpuhost::base
