// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Returns the output of journalctl --reverse in chronological order. A line that begins with a blank belongs
/// to the entry above it. `is_cut`: the oldest entry is incomplete, so drop it.
[[nodiscard]] std::string oldest_first(std::string_view newest_first, bool is_cut);

} // namespace gpuhost::ctl
