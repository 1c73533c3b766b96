// SPDX-License-Identifier: Apache-2.0
// The bundles that peers offer. They are hints only: the signed manifest decides.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The largest list of bundles from a peer, in bytes.
constexpr std::size_t offers_limit = 1U << 20U;
constexpr std::size_t most_offers = 1000;

struct Offer {
    std::string name;
    std::uint64_t generation = 0;
    std::size_t peer = 0; ///< index of the peer
};

/// Parses a peer's list. Returns the newest generation of each bundle and leaves out invalid entries.
[[nodiscard]] base::Result<std::vector<Offer>> parse_offers(std::string_view text, std::string_view what,
                                                            std::size_t peer);

/// Returns the offers of that bundle with at least generation `least`, the newest first.
[[nodiscard]] std::vector<Offer> best_offers(const std::vector<Offer>& offers, std::string_view name,
                                             std::uint64_t least);

/// Returns the names that match any of the patterns, each once, sorted.
[[nodiscard]] std::vector<std::string> wanted_names(std::vector<std::string> names,
                                                    const std::vector<std::string>& patterns);

} // namespace gpuhost::images
