// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/documents.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/resources.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpuhost::devices {

using base::Json;

namespace {

/// Resources by the UUIDs of their devices.
using Offered = std::map<std::string, const Resource*, std::less<>>;

/// Adds the members "resource", "replicas" and "state" to a device.
void add_state(Json& device, const Offer& offer, const Offered& offered,
               const std::map<std::string, Served>& served) {
    const auto found = offered.find(base::string_or(device, "uuid", ""));
    const bool is_offered = found != offered.end();
    const auto of_server = is_offered ? served.find(found->second->name) : served.end();
    const bool is_connected = of_server != served.end() && of_server->second.connected;
    device["resource"] = is_offered ? found->second->name : "";
    device["replicas"] = is_offered ? found->second->replicas : 0;
    device["state"] = !is_offered                ? "left-out"
                      : !offer.withdrawn.empty() ? "withdrawn"
                      : is_connected             ? "connected"
                                                 : "waiting";
}

/// Why the health of devices without an entry in the answer is not known, and what to do. Empty: it is known.
struct Unknown {
    std::string why;
    std::string next;
};

Unknown unknown_of(const std::optional<Answer>& answer) {
    if (!answer)
        return {"gpuhost-devices has not answered", "See why: systemctl status gpuhost-devices."};
    if (answer->blind.empty())
        return {};
    return {answer->blind, blind_advice(answer->blind)};
}

/// Adds the member "health" to a device.
void add_health(Json& device, const std::optional<Answer>& answer) {
    DeviceHealth healthy;
    healthy.uuid = base::string_or(device, "uuid", "");
    const DeviceHealth* found = answer ? find_health(answer->health, healthy.uuid) : nullptr;
    const DeviceHealth& health = found != nullptr ? *found : healthy;
    const Unknown unknown = unknown_of(answer);
    const bool is_unknown = found == nullptr && !unknown.why.empty();
    device["health"] = {{"state", is_unknown ? "unknown" : name_of(health.state)},
                        {"recovery", name_of(health.recovery)},
                        {"reason", is_unknown ? unknown.why : health.reason},
                        {"xid", health.xid},
                        {"since_us", health.since_us},
                        {"advice", is_unknown ? unknown.next : advice(health)}};
}

} // namespace

Json list_gpus(const std::optional<Offer>& offer, const std::optional<Answer>& answer) {
    if (!offer)
        return {{"resource", ""},        {"mig_strategy", "none"},     {"withdrawn", ""},
                {"gpus", Json::array()}, {"resources", Json::array()}, {"health_unknown", ""},
                {"health_advice", ""}};
    std::map<std::string, Served> served;
    const std::optional<Answer> current = answer && answer->id == offer->id ? answer : std::nullopt;
    if (current)
        for (const Served& one : current->resources)
            served[one.name] = one;
    Offered offered;
    Json resources = Json::array();
    const std::vector<Resource> all = resources_of(*offer);
    for (const Resource& resource : all) {
        for (const ResourceDevice& device : resource.devices)
            offered.emplace(device_of(device.id), &resource);
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
        add_health(gpu, current);
        for (Json& instance : gpu["instances"]) {
            add_state(instance, *offer, offered, served);
            add_health(instance, current);
        }
    }
    const Unknown unknown = unknown_of(current);
    return {{"resource", offer->resource},       {"mig_strategy", name_of(offer->mig)},
            {"withdrawn", offer->withdrawn},     {"gpus", std::move(gpus)},
            {"resources", std::move(resources)}, {"health_unknown", unknown.why},
            {"health_advice", unknown.next}};
}

std::string find_device(const Json& gpus, std::string_view name) {
    const Json* gpu = find_gpu(gpus, name);
    if (gpu == nullptr)
        return "";
    for (const Json& instance : base::list_of(*gpu, "instances"))
        if (base::string_or(instance, "uuid", "") == name)
            return std::string(name);
    return base::string_or(*gpu, "uuid", "");
}

const Json* find_gpu(const Json& gpus, std::string_view name) {
    if (const auto index = base::parse_uint(name))
        return *index < gpus.size() ? &gpus[*index] : nullptr;
    const auto is_named = [&](const Json& gpu) {
        const std::string address = base::string_or(gpu, "address", "");
        const Json& instances = base::list_of(gpu, "instances");
        return base::string_or(gpu, "uuid", "") == name || address == name ||
               address == "0000:" + std::string(name) ||
               std::any_of(instances.begin(), instances.end(), [&](const Json& instance) {
                   return base::string_or(instance, "uuid", "") == name;
               });
    };
    const auto found = std::find_if(gpus.begin(), gpus.end(), is_named);
    return found == gpus.end() ? nullptr : &*found;
}

} // namespace gpuhost::devices
