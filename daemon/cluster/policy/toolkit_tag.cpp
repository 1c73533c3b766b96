// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/toolkit_tag.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::cluster {

namespace {

/// Matches a name such as "ubuntu20.04".
bool is_distribution(std::string_view text) {
    const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
    return !text.empty() && is_small(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_small(c) || (c >= '0' && c <= '9') || c == '.';
    });
}

} // namespace

std::string toolkit_version_of(std::string_view tag) {
    constexpr std::string_view candidate = "rc.";
    if (base::starts_with(tag, "v"))
        tag.remove_prefix(1);
    const auto parts = base::split(tag, '-');
    std::string version = parts.empty() ? std::string() : parts.front();
    std::size_t used = 1;
    if (parts.size() > used && base::starts_with(parts[used], candidate))
        version += "~" + parts[used++];
    const bool is_tag = parts.size() <= used || (parts.size() == used + 1 && is_distribution(parts[used]));
    return is_tag && base::is_toolkit_version(version) ? version : std::string();
}

} // namespace gpuhost::cluster
