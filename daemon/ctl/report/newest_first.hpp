// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Puts the output of journalctl --reverse back into chronological order. A line that begins with a blank
/// belongs to the entry above it. With `is_cut`, the oldest entry is incomplete and is dropped.
[[nodiscard]] std::string oldest_first(std::string_view newest_first, bool is_cut);

} // namespace gpuhost::ctl
