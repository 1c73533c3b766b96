// SPDX-License-Identifier: Apache-2.0
// What peers say that they have. It is a hint where to look, no more: what counts is the signed manifest.
#pragma once

#include "daemon/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// Of a peer's list of bundles.
constexpr std::size_t offers_limit = 1U << 20U;
constexpr std::size_t most_offers = 1000;

struct Offer {
    std::string name;
    std::uint64_t generation = 0;
    std::size_t peer = 0; ///< its number
};

/// The newest generation of each bundle. What makes no sense in it is left out.
[[nodiscard]] base::Result<std::vector<Offer>> parse_offers(std::string_view text, std::string_view what,
                                                            std::size_t peer);

/// Those of that bundle which are not older than `least`, the newest first.
[[nodiscard]] std::vector<Offer> best_offers(const std::vector<Offer>& offers, std::string_view name,
                                             std::uint64_t least);

/// The names that any of the patterns fits, each once, in order.
[[nodiscard]] std::vector<std::string> wanted_names(std::vector<std::string> names,
                                                    const std::vector<std::string>& patterns);

} // namespace gpuhost::images
