// SPDX-License-Identifier: Apache-2.0
// The health of a device, as gpuhost-devices derives it from the kernel's messages and from the marks of
// administrators.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

enum class HealthState {
    healthy,
    noted,     ///< an error occurred that does not disable the device; the kubelet may allocate it
    unhealthy, ///< the kubelet allocates it to no other pod
};
[[nodiscard]] std::string_view name_of(HealthState state); ///< "healthy", "noted", "unhealthy"

/// The action that ends a fault.
enum class Recovery {
    none,        ///< no action of the host; a mark ends with 'gpuhostctl gpu clear'
    reset,       ///< a reset of the GPU, or a new load of the driver
    reboot,      ///< a restart of the host
    replacement, ///< another GPU in its place
};
[[nodiscard]] std::string_view name_of(Recovery recovery); ///< "none", "reset", "reboot", "replacement"

struct DeviceHealth {
    std::string uuid; ///< of a GPU or a MIG instance of the offer
    HealthState state = HealthState::healthy;
    Recovery recovery = Recovery::none;
    std::string reason; ///< a phrase for people: "Xid 79: GPU has fallen off the bus"
    unsigned xid = 0;   ///< number of the driver's error; 0: none
    /// CLOCK_REALTIME of the first error or of the mark, in microseconds; 0: unknown.
    std::int64_t since_us = 0;
    /// The device to reset or clear, if it is another one: the GPU of a MIG device. "": this device.
    std::string clear{};
    friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

/// The list has the devices that are noted or unhealthy.
[[nodiscard]] base::Json to_json(const std::vector<DeviceHealth>& health);
/// Returns an empty list for a value that is not a list. Fails with BadContent for an entry without a UUID or
/// with an unknown state or recovery.
[[nodiscard]] base::Result<std::vector<DeviceHealth>> health_from_json(const base::Json& list);

/// Returns what an administrator does about an unhealthy device, as one imperative sentence; "" for others.
[[nodiscard]] std::string advice(const DeviceHealth& health);

/// Begins the answer's `blind` if errors are detected, but earlier ones may be missing.
inline constexpr std::string_view missing_errors = "earlier errors may be missing: ";
/// Returns what an administrator does about the answer's `blind`, in imperative sentences.
[[nodiscard]] std::string blind_advice(std::string_view blind);

/// Returns nullptr if the device is healthy.
[[nodiscard]] const DeviceHealth* find_health(const std::vector<DeviceHealth>& health, std::string_view uuid);

} // namespace gpuhost::devices
