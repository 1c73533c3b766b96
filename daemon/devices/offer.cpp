// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/offer.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::int64_t version = 1;
constexpr std::array strategies{std::pair{MigStrategy::none, std::string_view("none")},
                                std::pair{MigStrategy::single, std::string_view("single")},
                                std::pair{MigStrategy::mixed, std::string_view("mixed")}};

constexpr std::array label_modes{std::pair{LabelMode::no, std::string_view("no")},
                                 std::pair{LabelMode::node, std::string_view("node")},
                                 std::pair{LabelMode::nfd, std::string_view("nfd")}};

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) {
    return std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == value; })
        ->second;
}

template <class Names>
auto value_in(const Names& names, std::string_view name) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.second == name; });
    return found == names.end() ? std::nullopt : std::optional(found->first);
}

} // namespace

std::string_view name_of(MigStrategy strategy) {
    return name_in(strategies, strategy);
}

std::optional<MigStrategy> mig_strategy(std::string_view name) {
    return value_in(strategies, name);
}

std::string_view name_of(LabelMode mode) {
    return name_in(label_modes, mode);
}

std::optional<LabelMode> label_mode(std::string_view name) {
    return value_in(label_modes, name);
}

std::string to_text(const Offer& offer) {
    return base::dump_pretty({{"version", version},
                              {"id", offer.id},
                              {"resource", offer.resource},
                              {"mig_strategy", name_of(offer.mig)},
                              {"withdrawn", offer.withdrawn},
                              {"gpus", to_json(offer.gpus)},
                              {"health", to_json(offer.health)},
                              {"host", to_json(offer.host)},
                              {"labels", name_of(offer.labels)},
                              {"taint_unhealthy", offer.taint_unhealthy},
                              {"sharing", to_json(offer.sharing)},
                              {"device_list_strategy", names_of(offer.strategies)},
                              {"device_id_strategy", name_of(offer.ids)},
                              {"device_nodes", offer.nodes ? Json(*offer.nodes) : Json()}});
}

Result<Offer> parse_offer(std::string_view text) {
    GPUHOST_TRY(document, base::parse_json(text, offer_path));
    GPUHOST_TRY(found, base::get_int(document, "version"));
    if (found != version)
        return base::fail(Errc::Unsupported,
                          std::string(offer_path) + " has the unknown version " + std::to_string(found),
                          "Restart gpuhost-devices.service: it is from another version of gpuhostd.");
    Offer offer;
    GPUHOST_TRY(id, base::get_string(document, "id"));
    GPUHOST_TRY(resource, base::get_string(document, "resource"));
    GPUHOST_TRY(strategy, base::get_string(document, "mig_strategy"));
    const auto mig = mig_strategy(strategy);
    if (!mig)
        return base::fail(Errc::BadContent,
                          std::string(offer_path) + " has the unknown mig_strategy '" + strategy + "'");
    GPUHOST_TRY(gpus, gpus_from_json(base::member(document, "gpus")));
    GPUHOST_TRY(health, health_rules_from_json(base::member(document, "health")));
    GPUHOST_TRY(sharing, sharing_from_json(base::member(document, "sharing")));
    GPUHOST_TRY(lists, list_strategies_from_json(base::member(document, "device_list_strategy")));
    const std::string ids = base::string_or(document, "device_id_strategy", "uuid");
    const auto strategy_of_ids = id_strategy(ids);
    if (!strategy_of_ids)
        return base::fail(Errc::BadContent,
                          std::string(offer_path) + " has the unknown device_id_strategy '" + ids + "'");
    const Json& list = base::member(document, "device_nodes");
    GPUHOST_TRY(nodes, nodes_from_json(list));
    return Offer{std::move(id),
                 std::move(resource),
                 *mig,
                 base::string_or(document, "withdrawn", ""),
                 std::move(gpus),
                 std::move(health),
                 host_facts_from_json(base::member(document, "host")),
                 label_mode(base::string_or(document, "labels", "")).value_or(LabelMode::no),
                 base::bool_or(document, "taint_unhealthy", false),
                 std::move(sharing),
                 std::move(lists),
                 *strategy_of_ids,
                 list.is_null() ? std::nullopt : std::optional(std::move(nodes))};
}

std::string to_text(const Answer& answer) {
    Json resources = Json::array();
    for (const Served& served : answer.resources)
        resources.push_back({{"name", served.name},
                             {"devices", served.devices},
                             {"connected", served.connected},
                             {"error", served.error}});
    return base::dump_pretty({{"id", answer.id},
                              {"resources", std::move(resources)},
                              {"health", to_json(answer.health)},
                              {"blind", answer.blind}});
}

Result<Answer> parse_answer(std::string_view text) {
    GPUHOST_TRY(document, base::parse_json(text, answer_path));
    GPUHOST_TRY(id, base::get_string(document, "id"));
    GPUHOST_TRY(health, health_from_json(base::member(document, "health")));
    Answer answer{std::move(id), {}, std::move(health), base::string_or(document, "blind", "")};
    for (const Json& element : base::list_of(document, "resources")) {
        GPUHOST_TRY(name, base::get_string(element, "name"));
        const auto devices = std::max<std::int64_t>(0, base::int_or(element, "devices", 0));
        answer.resources.push_back({std::move(name), static_cast<std::size_t>(devices),
                                    base::bool_or(element, "connected", false),
                                    base::string_or(element, "error", "")});
    }
    return answer;
}

} // namespace gpuhost::devices
