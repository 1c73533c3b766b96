// SPDX-License-Identifier: Apache-2.0
// All sections and keys of gpuhostd.conf(5).
#pragma once

#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost {

/// Returns the keys of all subsystems, one list for each subsystem.
[[nodiscard]] std::vector<std::span<const core::SettingKey>> setting_keys();

/// Returns the text of systemd/gpuhostd.conf: every key with its default value, commented out.
[[nodiscard]] std::string default_settings_file();

} // namespace gpuhost
