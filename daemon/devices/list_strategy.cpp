// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/list_strategy.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/nearest.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::array<std::string_view, most_list_strategies> names{"cdi-cri", "cdi-annotations", "envvar",
                                                                   "volume-mounts"};

} // namespace

std::string_view name_of(IdStrategy strategy) {
    return strategy == IdStrategy::index ? "index" : "uuid";
}

std::optional<IdStrategy> id_strategy(std::string_view name) {
    for (const IdStrategy strategy : {IdStrategy::uuid, IdStrategy::index})
        if (name_of(strategy) == name)
            return strategy;
    return std::nullopt;
}

std::string_view name_of(ListStrategy strategy) {
    return names.at(static_cast<std::size_t>(strategy));
}

std::optional<ListStrategy> list_strategy(std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<ListStrategy>(found - names.begin()));
}

std::vector<std::string> names_of(const ListStrategies& strategies) {
    std::vector<std::string> list;
    for (const ListStrategy strategy : strategies)
        list.emplace_back(name_of(strategy));
    return list;
}

std::string list_strategy_names() {
    return base::join({names.begin(), names.end()}, ", ");
}

std::optional<ListStrategies> list_strategies(const std::vector<std::string>& words) {
    ListStrategies strategies;
    for (const std::string& word : words) {
        const auto strategy = list_strategy(word);
        if (!strategy)
            return std::nullopt;
        strategies.insert(*strategy);
    }
    return strategies.empty() ? std::nullopt : std::optional(std::move(strategies));
}

std::string list_strategies_mistake(const std::vector<std::string>& words) {
    const std::vector<std::string> known(names.begin(), names.end());
    for (const std::string& word : words)
        if (!list_strategy(word)) {
            const std::string near = base::nearest(word, known);
            return "has '" + word + "', which is not one of: " + list_strategy_names() +
                   (near.empty() ? "" : " (did you mean '" + near + "'?)");
        }
    return words.empty() ? "is empty, and containers would get no GPU: use one of " + list_strategy_names()
                         : "";
}

Result<ListStrategies> list_strategies_from_json(const Json& value) {
    if (value.is_null())
        return ListStrategies{ListStrategy::cdi_cri};
    std::vector<std::string> words;
    for (const Json& word : value.is_array() ? value : Json::array())
        words.push_back(word.is_string() ? word.get<std::string>() : "");
    auto strategies = list_strategies(words);
    if (!strategies)
        return base::fail(Errc::BadContent, "invalid list of device list strategies");
    return *std::move(strategies);
}

bool uses_nvidias_runtime(const ListStrategies& strategies) {
    return strategies.contains(ListStrategy::envvar) || strategies.contains(ListStrategy::volume_mounts);
}

bool uses_cdi(const ListStrategies& strategies) {
    return strategies.contains(ListStrategy::cdi_cri) || strategies.contains(ListStrategy::cdi_annotations);
}

} // namespace gpuhost::devices
