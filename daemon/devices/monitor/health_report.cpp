// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/monitor/health_report.hpp"

#include "daemon/base/log.hpp"
#include "daemon/base/messages.hpp"

#include <string>

namespace gpuhost::devices {

namespace {

namespace log = base::log;
namespace message = base::message;

bool differs(const DeviceHealth& one, const DeviceHealth& other) {
    return one.state != other.state || one.recovery != other.recovery || one.xid != other.xid;
}

void report(const std::string& uuid, const std::string& address, const DeviceHealth* health) {
    const std::string device = uuid + " at " + address;
    if (health == nullptr) {
        log::event(log::Level::Notice, message::device_healthy,
                   {{"GPUHOST_DEVICE", uuid}, {"GPUHOST_ADDRESS", address}}, device + " is healthy again");
        return;
    }
    const bool is_unhealthy = health->state == HealthState::unhealthy;
    const std::string next = advice(*health);
    log::event(is_unhealthy ? log::Level::Error : log::Level::Notice,
               is_unhealthy ? message::device_unhealthy : message::device_noted,
               {{"GPUHOST_DEVICE", uuid},
                {"GPUHOST_ADDRESS", address},
                {"GPUHOST_XID", std::to_string(health->xid)},
                {"GPUHOST_RECOVERY", std::string(name_of(health->recovery))},
                {"GPUHOST_REASON", health->reason},
                {"GPUHOST_ADVICE", next}},
               device + (is_unhealthy ? " is unhealthy: " : " had an error and stays in use: ") +
                   health->reason);
    if (!next.empty())
        log::error(next);
}

} // namespace

void report_health(const Offer& offer, const std::vector<DeviceHealth>& before,
                   const std::vector<DeviceHealth>& after) {
    const auto compare = [&](const std::string& uuid, const std::string& address) {
        const DeviceHealth* then = find_health(before, uuid);
        const DeviceHealth* now = find_health(after, uuid);
        if ((then == nullptr) != (now == nullptr) || (now != nullptr && differs(*then, *now)))
            report(uuid, address, now);
    };
    for (const Gpu& gpu : offer.gpus) {
        compare(gpu.uuid, gpu.address);
        for (const Instance& instance : gpu.instances)
            compare(instance.uuid, gpu.address);
    }
}

} // namespace gpuhost::devices
