// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/shortened.hpp"

#include <algorithm>
#include <string_view>

namespace gpuhost::cluster {

std::string shortened(std::string text, std::size_t most) {
    constexpr std::string_view mark = "...";
    if (text.size() <= most)
        return text;
    std::size_t end = most < mark.size() ? 0 : most - mark.size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) // inside a character
        --end;
    text.resize(end);
    return text.append(mark.substr(0, std::min(most, mark.size())));
}

} // namespace gpuhost::cluster
