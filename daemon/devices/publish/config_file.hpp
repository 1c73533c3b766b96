// SPDX-License-Identifier: Apache-2.0
// The file that ConfigFile= in section [Devices] names. Only workers and gpuhostctl parse it; gpuhostd
// compares its identity with that of the file that a worker has read.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "daemon/devices/publish/plugin_config.hpp"

#include <string>
#include <vector>

namespace gpuhost::devices {

inline constexpr const char* config_hint = "Correct the file, then: gpuhostctl apply.";

/// Returns a text that differs after a change of the file, or of what it is checked against: path, inode,
/// size, time, settings and version. "" if no file is named.
[[nodiscard]] std::string config_identity(const base::Root& root, const DevicesSettings& settings);
/// Returns why a worker has refused the present file; "" if none has.
[[nodiscard]] std::string known_mistake(const base::Root& root, const DevicesSettings& settings);

/// Reads the file. Returns a sharing of nothing if no file is named.
[[nodiscard]] PluginConfig read_config_file(const base::Root& root, const DevicesSettings& settings);
/// Does the same, and leaves only ignored problems. If the file is refused, fails with BadContent and stores
/// the reason for known_mistake().
[[nodiscard]] base::Result<PluginConfig> read_sharing(const base::Root& root,
                                                      const DevicesSettings& settings);

/// Returns the mistakes in the file that the settings name, for people.
[[nodiscard]] std::vector<core::SettingsProblem> config_file_problems(const base::Root& root,
                                                                      const core::Settings& settings);

} // namespace gpuhost::devices
