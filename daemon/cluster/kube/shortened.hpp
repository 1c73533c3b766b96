// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::cluster {

/// Returns at most `most` bytes of UTF-8, cut between characters and with "..." in place of the rest. The API
/// server replaces an incomplete character, so a comparison of its text with ours would always find a
/// difference.
[[nodiscard]] std::string shortened(std::string text, std::size_t most);

} // namespace gpuhost::cluster
