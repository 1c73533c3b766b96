// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/documents.hpp"

#include "daemon/base/json.hpp"
#include "daemon/devices/resources.hpp"

#include <algorithm>
#include <map>

namespace gpuhost::devices {

using base::Json;

namespace {

/// Adds the members "resource" and "state" to a device. `offered` maps UUIDs to resources.
void add_state(Json& device, const Offer& offer, const std::map<std::string, std::string>& offered,
               const std::map<std::string, Served>& served) {
    const auto resource = offered.find(base::string_or(device, "uuid", ""));
    const bool is_offered = resource != offered.end();
    const auto of_server = is_offered ? served.find(resource->second) : served.end();
    const bool is_connected = of_server != served.end() && of_server->second.connected;
    device["resource"] = is_offered ? resource->second : "";
    device["state"] = !is_offered                ? "left-out"
                      : !offer.withdrawn.empty() ? "withdrawn"
                      : is_connected             ? "connected"
                                                 : "waiting";
}

} // namespace

Json list_gpus(const std::optional<Offer>& offer, const std::optional<Answer>& answer) {
    if (!offer)
        return {{"resource", ""},
                {"mig_strategy", "none"},
                {"withdrawn", ""},
                {"gpus", Json::array()},
                {"resources", Json::array()}};
    std::map<std::string, Served> served;
    if (answer && answer->id == offer->id)
        for (const Served& one : answer->resources)
            served[one.name] = one;
    std::map<std::string, std::string> offered;
    Json resources = Json::array();
    for (const Resource& resource : resources_of(*offer)) {
        for (const ResourceDevice& device : resource.devices)
            offered[device.id] = resource.name;
        const Served& said = served[resource.name];
        resources.push_back({{"name", resource.name},
                             {"devices", resource.devices.size()},
                             {"connected", said.connected},
                             {"error", said.error},
                             {"problem", resource.problem}});
    }
    Json gpus = to_json(offer->gpus);
    for (Json& gpu : gpus) {
        add_state(gpu, *offer, offered, served);
        for (Json& instance : gpu["instances"])
            add_state(instance, *offer, offered, served);
    }
    return {{"resource", offer->resource},
            {"mig_strategy", name_of(offer->mig)},
            {"withdrawn", offer->withdrawn},
            {"gpus", std::move(gpus)},
            {"resources", std::move(resources)}};
}

} // namespace gpuhost::devices
