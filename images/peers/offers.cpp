// SPDX-License-Identifier: Apache-2.0
#include "images/peers/offers.hpp"

#include "daemon/base/json.hpp"
#include "images/bundle/manifest.hpp"

#include <algorithm>
#include <map>

#include <fnmatch.h>

namespace gpuhost::images {

using base::Json;
using base::Result;

Result<std::vector<Offer>> parse_offers(std::string_view text, std::string_view what, std::size_t peer) {
    std::map<std::string, std::uint64_t> newest;
    const auto take = [&](const Json& value) -> Result<void> {
        std::string name = base::string_or(value, "name", "");
        const std::int64_t generation = base::int_or(value, "generation", -1);
        if (newest.size() < most_offers && is_bundle_name(name) && generation >= 0) {
            std::uint64_t& known = newest[std::move(name)];
            known = std::max(known, static_cast<std::uint64_t>(generation));
        }
        return {};
    };
    GPUHOST_CHECK(base::parse_json_list(text, what, "bundles", take));
    std::vector<Offer> offers;
    offers.reserve(newest.size());
    for (const auto& [name, generation] : newest)
        offers.push_back({name, generation, peer});
    return offers;
}

std::vector<Offer> best_offers(const std::vector<Offer>& offers, std::string_view name, std::uint64_t least) {
    std::vector<Offer> best;
    for (const Offer& offer : offers)
        if (offer.name == name && offer.generation >= least)
            best.push_back(offer);
    std::stable_sort(best.begin(), best.end(),
                     [](const Offer& a, const Offer& b) { return a.generation > b.generation; });
    return best;
}

std::vector<std::string> wanted_names(std::vector<std::string> names,
                                      const std::vector<std::string>& patterns) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase_if(names, [&](const std::string& name) {
        return std::none_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
            return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
        });
    });
    return names;
}

} // namespace gpuhost::images
