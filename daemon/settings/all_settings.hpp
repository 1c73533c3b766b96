// SPDX-License-Identifier: Apache-2.0
// All sections of gpuhostd.conf(5).
#pragma once

#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost {

/// Returns the keys of all subsystems.
[[nodiscard]] std::vector<std::span<const core::SettingKey>> setting_keys();

/// Returns a configuration file with every key, commented out, at its default.
[[nodiscard]] std::string default_settings_file();

} // namespace gpuhost
