// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/device_health.hpp"

#include "daemon/base/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::array states{std::pair{HealthState::healthy, std::string_view("healthy")},
                            std::pair{HealthState::noted, std::string_view("noted")},
                            std::pair{HealthState::unhealthy, std::string_view("unhealthy")}};
constexpr std::array recoveries{std::pair{Recovery::none, std::string_view("none")},
                                std::pair{Recovery::reset, std::string_view("reset")},
                                std::pair{Recovery::reboot, std::string_view("reboot")},
                                std::pair{Recovery::replacement, std::string_view("replacement")}};

template <class Table, class Value>
std::string_view word_of(const Table& table, Value value) {
    return std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.first == value; })
        ->second;
}

template <class Table>
auto value_of(const Table& table, const Json& object, std::string_view key)
    -> Result<typename Table::value_type::first_type> {
    GPUHOST_TRY(word, base::get_string(object, key));
    const auto* const found =
        std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.second == word; });
    if (found == table.end())
        return base::fail(Errc::BadContent, "the health of a device has an unknown " + std::string(key));
    return found->first;
}

Result<DeviceHealth> device_from_json(const Json& value) {
    DeviceHealth health;
    GPUHOST_TRY(uuid, base::get_string(value, "uuid"));
    GPUHOST_TRY(state, value_of(states, value, "state"));
    GPUHOST_TRY(recovery, value_of(recoveries, value, "recovery"));
    health.uuid = std::move(uuid);
    health.state = state;
    health.recovery = recovery;
    health.reason = base::string_or(value, "reason", "");
    health.xid = static_cast<unsigned>(std::clamp<std::int64_t>(base::int_or(value, "xid", 0), 0, 0xffff));
    health.since_us = base::int_or(value, "since_us", 0);
    health.clear = base::string_or(value, "clear", "");
    return health;
}

} // namespace

std::string_view name_of(HealthState state) {
    return word_of(states, state);
}

std::string_view name_of(Recovery recovery) {
    return word_of(recoveries, recovery);
}

Json to_json(const std::vector<DeviceHealth>& health) {
    Json list = Json::array();
    for (const DeviceHealth& one : health)
        list.push_back({{"uuid", one.uuid},
                        {"state", name_of(one.state)},
                        {"recovery", name_of(one.recovery)},
                        {"reason", one.reason},
                        {"xid", one.xid},
                        {"since_us", one.since_us},
                        {"clear", one.clear}});
    return list;
}

Result<std::vector<DeviceHealth>> health_from_json(const Json& list) {
    std::vector<DeviceHealth> health;
    if (!list.is_array())
        return health;
    for (const Json& element : list) {
        GPUHOST_TRY(one, device_from_json(element));
        health.push_back(std::move(one));
    }
    return health;
}

std::string advice(const DeviceHealth& health) {
    if (health.state != HealthState::unhealthy)
        return "";
    const std::string& device = health.clear.empty() ? health.uuid : health.clear;
    switch (health.recovery) {
    case Recovery::none:
        return "Return it to the kubelet: gpuhostctl gpu clear " + device + ".";
    case Recovery::reset:
        return "Drain the host, reset the GPU with 'nvidia-smi --gpu-reset -i " + device +
               "', then: gpuhostctl gpu clear " + device + ".";
    case Recovery::reboot:
        return "Drain the host, then: systemctl reboot.";
    case Recovery::replacement:
        return "Replace the GPU.";
    }
    return "";
}

std::string blind_advice(std::string_view blind) {
    if (blind.starts_with(missing_errors))
        return "Check the GPUs: nvidia-smi -q. "
               "Then clear each (gpuhostctl gpu clear GPU), or load the driver again.";
    return "Restart the service: systemctl restart gpuhost-devices. Its standard input must be /dev/kmsg: "
           "systemctl cat gpuhost-devices.";
}

const DeviceHealth* find_health(const std::vector<DeviceHealth>& health, std::string_view uuid) {
    const auto found =
        std::find_if(health.begin(), health.end(), [&](const DeviceHealth& one) { return one.uuid == uuid; });
    return found == health.end() ? nullptr : &*found;
}

} // namespace gpuhost::devices
