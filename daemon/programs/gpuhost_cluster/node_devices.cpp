// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/node_devices.hpp"

#include "daemon/devices/labels.hpp"
#include "daemon/devices/resources.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace gpuhost {

using devices::DeviceHealth;
using devices::HealthState;
using devices::Offer;
using devices::Recovery;

namespace {

/// Returns the UUIDs of the devices that the kubelet may allocate. A split GPU is not among them.
std::set<std::string> offered_by(const Offer& offer) {
    std::set<std::string> uuids;
    for (const devices::Resource& resource : devices::resources_of(offer))
        for (const devices::ResourceDevice& device : resource.devices)
            uuids.emplace(devices::device_of(device.id)); // replicas are one device
    return uuids;
}

std::string describe(const DeviceHealth& device) {
    std::string text = device.uuid + ": " + device.reason;
    if (device.recovery == Recovery::reset)
        text += " (needs a reset of the GPU)";
    else if (device.recovery == Recovery::reboot)
        text += " (needs a reboot)";
    else if (device.recovery == Recovery::replacement)
        text += " (must be replaced)";
    return text;
}

std::string reason_of(const std::vector<DeviceHealth>& unhealthy) {
    const auto needs = [&](Recovery recovery) {
        return std::any_of(unhealthy.begin(), unhealthy.end(),
                           [&](const DeviceHealth& one) { return one.recovery == recovery; });
    };
    if (needs(Recovery::replacement))
        return "ReplacementRequired";
    if (needs(Recovery::reboot))
        return "RebootRequired";
    return needs(Recovery::reset) ? "ResetRequired" : "Unhealthy";
}

/// Devices that are only noted do not count: the kubelet allocates them, and applications cause most notes.
cluster::Condition health_of(const Offer& offer, const DeviceFacts& facts) {
    const auto& answer = facts.answer;
    if (!facts.answer_error.empty())
        return cluster::make_condition(cluster::gpus_healthy, "Unknown", "AnswerUnreadable",
                                       "can't read the answer of gpuhost-devices: " + facts.answer_error);
    if (!answer)
        return cluster::make_condition(cluster::gpus_healthy, "Unknown", "NotServed",
                                       "gpuhost-devices does not run");
    const std::set<std::string> offered = offered_by(offer);
    const std::size_t count = offered.size();
    if (count == 0)
        return cluster::make_condition(cluster::gpus_healthy, "Unknown", "NoDevices",
                                       "no device is offered to the kubelet");
    std::vector<DeviceHealth> unhealthy;
    std::copy_if(answer->health.begin(), answer->health.end(), std::back_inserter(unhealthy),
                 [&](const DeviceHealth& one) {
                     return one.state == HealthState::unhealthy && offered.count(one.uuid) != 0;
                 });
    if (unhealthy.empty() && !answer->blind.empty())
        return cluster::make_condition(cluster::gpus_healthy, "Unknown", "NotMonitored",
                                       answer->blind + ". " + devices::blind_advice(answer->blind));
    if (unhealthy.empty())
        return cluster::make_condition(cluster::gpus_healthy, "True", "Healthy",
                                       count == 1 ? "the device is healthy"
                                                  : "all " + std::to_string(count) + " devices are healthy");
    std::string text = std::to_string(unhealthy.size()) + " of " + std::to_string(count) +
                       (count == 1 ? " device" : " devices") +
                       (unhealthy.size() == 1 ? " is unhealthy: " : " are unhealthy: ");
    for (const DeviceHealth& one : unhealthy)
        text += (&one == &unhealthy.front() ? "" : "; ") + describe(one);
    if (!answer->blind.empty())
        text += "; the others are unknown: " + answer->blind;
    return cluster::make_condition(cluster::gpus_healthy, "False", reason_of(unhealthy), std::move(text));
}

} // namespace

std::optional<cluster::NodeDevices> node_devices(const DeviceFacts& facts, bool settled) {
    if (facts.unreadable || (!facts.offer && !settled))
        return std::nullopt;
    cluster::NodeDevices made;
    if (!facts.offer) {
        made.labels.emplace();
        made.tainted = false;
        return made;
    }
    made.labels = devices::published_labels(*facts.offer, devices::LabelMode::node);
    made.health = health_of(*facts.offer, facts);
    if (!facts.offer->taint_unhealthy)
        made.tainted = false;
    else if (made.health->status != "Unknown")
        made.tainted = made.health->status == "False";
    return made;
}

void OfferGeneration::see(const DeviceFacts& facts) {
    if (std::string id = facts.offer ? facts.offer->id : ""; id != std::exchange(id_, id))
        ++present_;
}

bool HealthNews::is_news(const cluster::Condition* before, const cluster::Condition& after) {
    if (before != nullptr && before->status != "Unknown")
        last_ = *before;
    if (after.status == "Unknown")
        return false;
    const auto last = std::exchange(last_, after);
    const bool was_unhealthy = last && last->status == "False";
    return after.status == "False" ? !was_unhealthy || last->message != after.message : was_unhealthy;
}

} // namespace gpuhost
