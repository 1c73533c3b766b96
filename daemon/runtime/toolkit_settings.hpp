// SPDX-License-Identifier: Apache-2.0
// Section [Toolkit] of gpuhostd.conf(5).
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct ToolkitSettings {
    std::string version{"auto"};      ///< "auto", "off", "preinstalled", or a version
    std::string mode{"auto"};         ///< mode of nvidia-container-runtime
    std::vector<std::string> options; ///< options of config.toml, each "KEY=VALUE"
    /// [Runtime] ToolkitDirectory=: directory of the programs in runtimes' configuration, whatever toolkit is
    /// selected. Empty: the directory of the selected toolkit.
    std::string directory;
    bool of_cluster = false; ///< `version` is from the cluster's policy; not part of a step's arguments
    friend bool operator==(const ToolkitSettings&, const ToolkitSettings&) = default;
};

[[nodiscard]] std::span<const core::SettingKey> toolkit_setting_keys();
[[nodiscard]] ToolkitSettings toolkit_settings(const core::Settings& settings);

/// Returns the settings as a step's arguments.
[[nodiscard]] base::Json to_json(const ToolkitSettings& settings);
[[nodiscard]] ToolkitSettings toolkit_settings_from_json(const base::Json& value);

} // namespace gpuhost::runtime
