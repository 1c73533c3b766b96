// SPDX-License-Identifier: Apache-2.0
// The configuration file of NVIDIA's device plugin (version v1), from which gpuhostd takes the time slices.
#pragma once

#include "daemon/core/settings.hpp"
#include "daemon/devices/publish/devices_settings.hpp"
#include "daemon/devices/sharing.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

struct PluginConfig {
    Sharing sharing;
    std::vector<core::SettingsProblem> problems;

    /// Returns why the file is refused, as one line; empty if it is not.
    [[nodiscard]] std::string mistake() const;
};

/// Parses YAML or JSON, with the meanings of NVIDIA's device plugin 0.20. Differs from it:
///
/// - Fields that no version of the plugin has are refused, as is sharing.mps.
/// - A field that has no effect here is a problem, unless its value asks for what gpuhostd does. So are the
///   fields that the plugin ignores with a warning: resources, rename, and devices other than "all".
/// - flags.migStrategy must be MigStrategy=. flags.plugin.deviceListStrategy, deviceIDStrategy and
///   passDeviceSpecs have no effect beside the settings of these names; a difference is a problem that is
///   ignored. An invalid value and an empty list are refused.
/// - A resource may be listed once, with at most most_replicas replicas. One at least must be ResourceName=
///   or a MIG profile.
/// - A file without a document is refused.
/// - The YAML is that of parse_yaml(): "yes" and "on" are not booleans, "4.0" is not a number, and a key that
///   a map has twice is a mistake. The plugin takes all of these; the last of several values counts.
[[nodiscard]] PluginConfig parse_plugin_config(std::string_view text, const DevicesSettings& settings);

} // namespace gpuhost::devices
