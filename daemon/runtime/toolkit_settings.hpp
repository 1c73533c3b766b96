// SPDX-License-Identifier: Apache-2.0
// Section [Toolkit] of gpuhostd.conf(5).
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct ToolkitSettings {
    std::string version{"auto"};      ///< "auto", "off", "preinstalled", or one
    std::string mode{"auto"};         ///< of nvidia-container-runtime
    std::vector<std::string> options; ///< of config.toml, "KEY=VALUE"
    std::string
        directory; ///< of [Runtime]: where its programs are, whatever is selected; empty: follows that
    bool of_cluster = false; ///< `version` is the cluster's policy's, and no step's argument
    friend bool operator==(const ToolkitSettings&, const ToolkitSettings&) = default;
};

[[nodiscard]] std::span<const core::SettingKey> toolkit_setting_keys();
[[nodiscard]] ToolkitSettings toolkit_settings(const core::Settings& settings);

/// As a step's arguments.
[[nodiscard]] base::Json to_json(const ToolkitSettings& settings);
[[nodiscard]] ToolkitSettings toolkit_settings_from_json(const base::Json& value);

} // namespace gpuhost::runtime
