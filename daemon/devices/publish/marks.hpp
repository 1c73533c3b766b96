// SPDX-License-Identifier: Apache-2.0
// Marks and clears of devices, as files. Marks last over restarts of the host. Clears end with the faults, at
// a restart.
#pragma once

#include "daemon/base/root.hpp"
#include "daemon/devices/health_rules.hpp"
#include "daemon/devices/publish/devices_settings.hpp"

#include <string>
#include <string_view>

namespace gpuhost::devices {

inline constexpr std::string_view marks_path = "/var/lib/gpuhost/gpu-marks.json";
inline constexpr std::string_view clears_path = "/run/gpuhost/gpu-clears.json";

/// Returns the lists of the settings, and the marks and clears. Fails if a file exists and can't be read.
[[nodiscard]] base::Result<HealthRules> health_rules(const base::Root& root, const DevicesSettings& settings);
/// Returns the same. If a file can't be read, sets `problem` and keeps the marks and clears of the present
/// offer.
[[nodiscard]] HealthRules usable_rules(const base::Root& root, const DevicesSettings& settings,
                                       std::string& problem);
/// Writes the marks and clears.
[[nodiscard]] base::Result<void> write_marks(const base::Root& root, const HealthRules& rules);

/// Marks a device. A mark with the same reason keeps its time. Fails with NoSpace for too many marks.
[[nodiscard]] base::Result<void> add_mark(HealthRules& rules, const std::string& uuid,
                                          const std::string& reason, std::int64_t now_us);
/// Removes the mark of a device, and ends the faults that it had until now.
void add_clear(HealthRules& rules, const std::string& uuid, std::int64_t now_us);

/// Returns why the text can't be the reason of a mark; empty if it can.
[[nodiscard]] std::string reason_mistake(const std::string& reason);

} // namespace gpuhost::devices
