// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::cluster {

/// Returns at most so many bytes of UTF-8, cut between characters and with "..." in place of what is cut. The API server
/// replaces half a character, and whoever compares its text with ours finds a difference for ever.
[[nodiscard]] std::string shortened(std::string text, std::size_t most);

} // namespace gpuhost::cluster
