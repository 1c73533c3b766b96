// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit_settings.hpp"

#include "daemon/base/json.hpp"
#include "daemon/core/cluster_desired.hpp"

#include <array>

namespace gpuhost::runtime {

using base::Json;

namespace {

using core::SettingKey;
using core::SettingType;

constexpr std::array keys{
    SettingKey{"Toolkit", "Version", SettingType::ToolkitVersion, "auto", "",
               "NVIDIA's container toolkit: auto, off, preinstalled, or a version in the store"},
    SettingKey{"Toolkit", "Mode", SettingType::Choice, "auto", "auto legacy cdi jit-cdi",
               "the way in which nvidia-container-runtime gives GPUs to containers"},
    SettingKey{"Toolkit", "Options", SettingType::Words, "", "",
               "options of config.toml that differ from NVIDIA's defaults, each KEY=VALUE"},
};

} // namespace

std::span<const SettingKey> toolkit_setting_keys() {
    return keys;
}

ToolkitSettings toolkit_settings(const core::Settings& settings) {
    return {settings.string("Toolkit", "Version"), settings.string("Toolkit", "Mode"),
            settings.words("Toolkit", "Options"), settings.string("Runtime", "ToolkitDirectory"),
            settings.get("Toolkit", "Version").source == core::cluster_policy_source};
}

Json to_json(const ToolkitSettings& settings) {
    return {{"version", settings.version},
            {"mode", settings.mode},
            {"options", settings.options},
            {"directory", settings.directory}};
}

ToolkitSettings toolkit_settings_from_json(const Json& value) {
    return {base::string_or(value, "version", "auto"), base::string_or(value, "mode", "auto"),
            base::strings_or_empty(value, "options"), base::string_or(value, "directory", ""), false};
}

} // namespace gpuhost::runtime
