// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/node_devices.hpp"

#include "daemon/devices/labels.hpp"

#include <algorithm>
#include <vector>

namespace gpuhost {

using devices::DeviceHealth;
using devices::HealthState;
using devices::Offer;
using devices::Recovery;

namespace {

/// Returns the number of devices that an offer describes: instances, and GPUs without MIG.
std::size_t count_of(const Offer& offer) {
    std::size_t count = 0;
    for (const devices::Gpu& gpu : offer.gpus)
        count += gpu.split ? gpu.instances.size() : 1;
    return count;
}

std::string describe(const DeviceHealth& device) {
    std::string text = device.uuid + ": " + device.reason;
    if (device.recovery == Recovery::reset)
        text += " (needs a reset of the GPU)";
    else if (device.recovery == Recovery::reboot)
        text += " (needs a reboot)";
    return text;
}

std::string reason_of(const std::vector<DeviceHealth>& unhealthy) {
    const auto needs = [&](Recovery recovery) {
        return std::any_of(unhealthy.begin(), unhealthy.end(),
                           [&](const DeviceHealth& one) { return one.recovery == recovery; });
    };
    if (needs(Recovery::reboot))
        return "RebootRequired";
    return needs(Recovery::reset) ? "ResetRequired" : "Unhealthy";
}

/// Devices that are only noted do not count: the kubelet allocates them, and applications cause most notes.
cluster::Condition health_of(const Offer& offer, const std::optional<devices::Answer>& answer) {
    if (!answer)
        return cluster::make_condition(cluster::gpus_healthy, "Unknown", "NotServed",
                                       "gpuhost-devices does not run");
    std::vector<DeviceHealth> unhealthy;
    std::copy_if(answer->health.begin(), answer->health.end(), std::back_inserter(unhealthy),
                 [](const DeviceHealth& one) { return one.state == HealthState::unhealthy; });
    const std::size_t count = count_of(offer);
    if (unhealthy.empty())
        return cluster::make_condition(cluster::gpus_healthy, "True", "Healthy",
                                       count == 1 ? "the device is healthy"
                                                  : "all " + std::to_string(count) + " devices are healthy");
    std::string text = std::to_string(unhealthy.size()) + " of " + std::to_string(count) +
                       (count == 1 ? " device" : " devices") +
                       (unhealthy.size() == 1 ? " is unhealthy: " : " are unhealthy: ");
    for (const DeviceHealth& one : unhealthy)
        text += (&one == &unhealthy.front() ? "" : "; ") + describe(one);
    return cluster::make_condition(cluster::gpus_healthy, "False", reason_of(unhealthy), std::move(text));
}

/// Returns nullopt if the labels on the Node stay: while GPUs are withdrawn, their facts may be incomplete.
std::optional<devices::Labels> labels_for(const Offer& offer) {
    if (offer.labels != devices::LabelMode::node)
        return devices::Labels();
    if (!offer.withdrawn.empty())
        return std::nullopt;
    auto labels = devices::labels_of(offer);
    return labels.empty() && !offer.gpus.empty() ? std::nullopt : std::optional(std::move(labels));
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
    made.labels = labels_for(*facts.offer);
    made.health = health_of(*facts.offer, facts.answer);
    if (!facts.offer->taint_unhealthy)
        made.tainted = false;
    else if (made.health->status != "Unknown")
        made.tainted = made.health->status == "False";
    return made;
}

} // namespace gpuhost
