// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// What journalctl --reverse printed, in the order of time again. Lines that begin with a blank are of the entry above them.
/// An entry that `is_cut`, the last one then, is left out.
[[nodiscard]] std::string oldest_first(std::string_view newest_first, bool is_cut);

} // namespace gpuhost::ctl
