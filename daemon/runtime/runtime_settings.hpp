// SPDX-License-Identifier: Apache-2.0
// Section [Runtime] of gpuhostd.conf(5), and what of [CDI] runtimes are told.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Where the programs of NVIDIA's runtime classes are: as runtimes are told, and as they can be looked for now, also where
/// nothing leads there yet. Empty: nowhere.
struct ToolkitPlace {
    std::string directory{"/usr/bin"};
    std::string programs{"/usr/bin"};
    std::string otherwise{"/usr/bin"}; ///< the directory that counts as long as nothing is in the first
    friend bool operator==(const ToolkitPlace&, const ToolkitPlace&) = default;
};

struct RuntimeSettings {
    bool configure = true;                    ///< also by apply, not only when asked
    std::vector<std::string> runtimes;        ///< by name; empty: all
    std::vector<std::string> classes{"auto"}; ///< "auto", "none", or names of NVIDIA's runtime classes
    std::string default_class;                ///< empty: the default runtime stays
    ToolkitPlace toolkit;                     ///< of the toolkit that is used
    bool restart = true;                      ///< what is configured otherwise is started again
    bool repair = true;                       ///< what another program has overwritten is written again
    bool cdi = true;                          ///< specifications are written at all
    std::string cdi_directory{"/run/cdi"};    ///< where
    bool registry_hosts = false;              ///< bundles have images that pods are to find
    friend bool operator==(const RuntimeSettings&, const RuntimeSettings&) = default;
};

[[nodiscard]] std::span<const core::SettingKey> runtime_setting_keys();
[[nodiscard]] RuntimeSettings runtime_settings(const core::Settings& settings, ToolkitPlace toolkit,
                                               bool registry_hosts);

/// As a step's arguments.
[[nodiscard]] base::Json to_json(const RuntimeSettings& settings);
/// To compare with those of another time: without what counted only until a toolkit was selected.
[[nodiscard]] base::Json settled_settings(RuntimeSettings settings);
[[nodiscard]] RuntimeSettings runtime_settings_from_json(const base::Json& value);

} // namespace gpuhost::runtime
