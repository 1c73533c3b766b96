// SPDX-License-Identifier: Apache-2.0
// Section [Runtime] of gpuhostd.conf(5), and the parts of [CDI] that runtimes need.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Locations of the programs of NVIDIA's runtime classes; empty: nowhere. `directory` is the path that
/// runtimes are configured with. `programs` is their present place, even before `directory` leads there.
struct ToolkitPlace {
    std::string directory{"/usr/bin"};
    std::string programs{"/usr/bin"};
    std::string otherwise{"/usr/bin"}; ///< used while `directory` has no programs
    friend bool operator==(const ToolkitPlace&, const ToolkitPlace&) = default;
};

struct RuntimeSettings {
    bool configure = true;                    ///< apply does it too, without a request
    std::vector<std::string> runtimes;        ///< by name; empty: all
    std::vector<std::string> classes{"auto"}; ///< "auto", "none", or names of NVIDIA's runtime classes
    std::string default_class;                ///< empty: unchanged
    ToolkitPlace toolkit;                     ///< of the toolkit in use
    bool restart = true;                      ///< restart runtimes whose configuration changed
    bool repair = true;                       ///< rewrite what another program has overwritten
    bool cdi = true;                          ///< specifications are written
    std::string cdi_directory{"/run/cdi"};    ///< their directory
    bool registry_hosts = false;              ///< pods are to find images of bundles
    friend bool operator==(const RuntimeSettings&, const RuntimeSettings&) = default;
};

[[nodiscard]] std::span<const core::SettingKey> runtime_setting_keys();
[[nodiscard]] RuntimeSettings runtime_settings(const core::Settings& settings, ToolkitPlace toolkit,
                                               bool registry_hosts);

/// Returns the settings as a step's arguments.
[[nodiscard]] base::Json to_json(const RuntimeSettings& settings);
/// Returns the settings to compare with those of another run. Excludes `otherwise`, which applies only until
/// a toolkit is selected.
[[nodiscard]] base::Json effective_settings(RuntimeSettings settings);
[[nodiscard]] RuntimeSettings runtime_settings_from_json(const base::Json& value);

} // namespace gpuhost::runtime
