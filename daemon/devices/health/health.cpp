// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/health.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/devices/health/xid_table.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace gpuhost::devices {

namespace {

/// A GPU, or a MIG device of it.
struct Place {
    const Gpu& gpu;
    const Instance* instance = nullptr; ///< nullptr: the GPU

    [[nodiscard]] const std::string& uuid() const { return instance != nullptr ? instance->uuid : gpu.uuid; }
    [[nodiscard]] bool is(const std::string& uuid) const {
        return uuid == gpu.uuid || (instance != nullptr && uuid == instance->uuid);
    }
    [[nodiscard]] bool is_at(const std::string& address) const {
        return base::starts_with(gpu.address, address + ".");
    }
    [[nodiscard]] bool is_cleared(const std::vector<std::string>& uuids) const {
        return std::find(uuids.begin(), uuids.end(), uuid()) != uuids.end();
    }
    [[nodiscard]] bool has(const Fault& fault) const {
        const auto in_instance = [&](const Instance& one) { return one.gpu_instance == *fault.gpu_instance; };
        return is_at(fault.address) &&
               (!fault.gpu_instance || (instance != nullptr && in_instance(*instance)) ||
                std::none_of(gpu.instances.begin(), gpu.instances.end(), in_instance));
    }
};

bool contains(const std::vector<unsigned>& list, unsigned xid) {
    return std::find(list.begin(), list.end(), xid) != list.end();
}

std::string reason_of(const Fault& fault) {
    return "Xid " + std::to_string(fault.xid) + (fault.text.empty() ? "" : ": " + fault.text);
}

/// Returns the fault as the health of the device; nullopt if the fault does not count.
std::optional<DeviceHealth> health_of(const Fault& fault, const Place& place, const HealthRules& rules) {
    const bool is_fatal = contains(rules.fatal_xids, fault.xid);
    if (!place.has(fault) || place.is_cleared(fault.cleared_for) ||
        (!is_fatal && (fault.ended || contains(rules.ignore_xids, fault.xid))))
        return std::nullopt;
    DeviceHealth health;
    health.uuid = place.uuid();
    health.recovery = is_fatal ? Recovery::reboot : xid_recovery(fault.xid, fault.fatal);
    health.state = health.recovery == Recovery::none ? HealthState::noted : HealthState::unhealthy;
    health.reason = reason_of(fault);
    health.xid = fault.xid;
    health.since_us = fault.first_us;
    return health;
}

/// Returns the action that the driver demands for the device; nullptr: none that counts.
const RequiredAction* action_for(const Place& place, const FaultLog& log, const HealthRules& rules) {
    const auto found = std::find_if(log.actions.begin(), log.actions.end(), [&](const RequiredAction& one) {
        return place.is_at(one.address) && !place.is_cleared(one.cleared_for);
    });
    return found == log.actions.end() || contains(rules.ignore_xids, xid_recovery_action) ? nullptr : &*found;
}

/// Adds the action to the fault that preceded it. The driver's word replaces the table's.
void add_action(DeviceHealth& health, const RequiredAction& action, bool is_fatal) {
    const std::string demand = "the driver requires: " + action.text;
    if (health.xid == 0) {
        health.xid = xid_recovery_action;
        health.since_us = action.since_us;
        health.reason = "Xid " + std::to_string(xid_recovery_action) + ": " + demand;
    } else {
        health.reason += "; " + demand;
    }
    health.state = HealthState::unhealthy;
    health.recovery = is_fatal ? Recovery::reboot : action_recovery(action.action);
}

/// Adds what NVML says of the GPU's memory. Messages of an earlier boot are gone, and the state stays.
void add_memory(DeviceHealth& health, const Gpu& gpu, const HealthRules& rules) {
    if (gpu.memory_failed && !contains(rules.ignore_xids, xid_memory_failed)) {
        if (health.state != HealthState::unhealthy) { // of another error, which is only noted
            health.xid = 0;
            health.since_us = 0;
        }
        health.state = HealthState::unhealthy;
        health.recovery = Recovery::replacement;
        health.reason = "NVML: faulty memory could not be replaced by spare rows" +
                        (health.reason.empty() ? "" : "; " + health.reason);
    } else if (gpu.memory_pending && health.state == HealthState::healthy &&
               !contains(rules.ignore_xids, xid_memory_pending)) {
        health.state = HealthState::noted;
        health.reason = "NVML: faulty memory waits for a reset of the GPU to be replaced";
    }
}

void add_mark(DeviceHealth& health, const Mark& mark) {
    const std::string reason = "marked by an administrator: " + mark.reason;
    const bool alone = health.state != HealthState::unhealthy;
    health.reason = alone ? reason : reason + "; " + health.reason;
    health.since_us =
        alone || health.since_us == 0 ? mark.since_us : std::min(health.since_us, mark.since_us);
    health.xid = alone ? 0 : health.xid;
    health.state = HealthState::unhealthy;
}

DeviceHealth evaluate(const Place& place, const FaultLog& log, const HealthRules& rules) {
    DeviceHealth worst;
    worst.uuid = place.uuid();
    for (const Fault& fault : log.faults)
        if (auto health = health_of(fault, place, rules)) {
            // The first of several unhealthy ones is the cause of the others.
            const bool newer = health->state == HealthState::noted && worst.state == HealthState::noted;
            if (newer ||
                std::tuple(health->state, health->recovery) > std::tuple(worst.state, worst.recovery))
                worst = *std::move(health);
        }
    if (const RequiredAction* action = action_for(place, log, rules))
        add_action(worst, *action, contains(rules.fatal_xids, worst.xid));
    add_memory(worst, place.gpu, rules);
    const auto mark = std::find_if(rules.marks.begin(), rules.marks.end(),
                                   [&](const Mark& one) { return place.is(one.uuid); });
    if (mark != rules.marks.end())
        add_mark(worst, *mark);
    const bool only_marked = mark != rules.marks.end() && worst.recovery == Recovery::none;
    if (place.instance != nullptr && worst.state == HealthState::unhealthy &&
        !(only_marked && mark->uuid == worst.uuid))
        worst.clear = place.gpu.uuid;
    return worst;
}

} // namespace

std::vector<DeviceHealth> evaluate_health(const FaultLog& log, const Offer& offer) {
    std::vector<DeviceHealth> list;
    const auto add = [&](const Place& place) {
        if (DeviceHealth health = evaluate(place, log, offer.health); health.state != HealthState::healthy)
            list.push_back(std::move(health));
    };
    for (const Gpu& gpu : offer.gpus) {
        add({gpu});
        for (const Instance& instance : gpu.instances)
            add({gpu, &instance});
    }
    return list;
}

void add_health(Resource& resource, const std::vector<DeviceHealth>& health) {
    for (ResourceDevice& device : resource.devices) {
        const DeviceHealth* found = find_health(health, device_of(device.id));
        device.unhealthy =
            found != nullptr && found->state == HealthState::unhealthy ? found->reason : std::string();
    }
}

} // namespace gpuhost::devices
