// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpuhost::cluster {

/// Returns at most `most` bytes of UTF-8: `text`, cut between characters, with "..." in place of the rest.
/// The API server replaces an incomplete character, so its copy would always differ from ours.
[[nodiscard]] std::string shortened(std::string text, std::size_t most);

} // namespace gpuhost::cluster
