// SPDX-License-Identifier: Apache-2.0
// Section [Runtime] of gpuhostd.conf(5), and what of [CDI] runtimes are told.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct RuntimeSettings {
    bool configure = true;                     ///< also by apply, not only when asked
    std::vector<std::string> runtimes;         ///< by name; empty: all
    std::vector<std::string> classes{"auto"};  ///< "auto", "none", or names of NVIDIA's runtime classes
    std::string default_class;                 ///< empty: the default runtime stays
    std::string toolkit_directory{"/usr/bin"}; ///< where the programs of runtime classes are
    bool restart = true;                       ///< what is configured otherwise is started again
    bool repair = true;                        ///< what another program has overwritten is written again
    bool cdi = true;                           ///< specifications are written at all
    std::string cdi_directory{"/run/cdi"};     ///< where
    friend bool operator==(const RuntimeSettings&, const RuntimeSettings&) = default;
};

[[nodiscard]] std::span<const core::SettingKey> runtime_setting_keys();
[[nodiscard]] RuntimeSettings runtime_settings(const core::Settings& settings);

/// As a step's arguments.
[[nodiscard]] base::Json to_json(const RuntimeSettings& settings);
[[nodiscard]] RuntimeSettings runtime_settings_from_json(const base::Json& value);

} // namespace gpuhost::runtime
