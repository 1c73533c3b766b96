// SPDX-License-Identifier: Apache-2.0
// Offers: the lists of bundles that peers send. They are untrusted, and only select which signed manifest is
// requested from which peer.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// The largest list of bundles that is accepted from a peer, in bytes.
constexpr std::size_t offers_limit = 1U << 20U;
constexpr std::size_t most_offers = 1000;

struct Offer {
    std::string name;
    std::uint64_t generation = 0;
    std::size_t peer = 0; ///< index of the peer in the caller's list
};

/// Parses a peer's list. Returns one offer for each bundle, with its newest generation. Leaves out invalid
/// entries, and bundles after the first most_offers.
[[nodiscard]] base::Result<std::vector<Offer>> parse_offers(std::string_view text, std::string_view what,
                                                            std::size_t peer);

/// Returns the offers of bundle `name` whose generation is at least `least`, the newest first.
[[nodiscard]] std::vector<Offer> best_offers(const std::vector<Offer>& offers, std::string_view name,
                                             std::uint64_t least);

/// Returns the `names` that match any of the shell patterns, each once, sorted.
[[nodiscard]] std::vector<std::string> wanted_names(std::vector<std::string> names,
                                                    const std::vector<std::string>& patterns);

} // namespace gpuhost::images
