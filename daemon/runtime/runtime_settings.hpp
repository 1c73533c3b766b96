// SPDX-License-Identifier: Apache-2.0
// Section [Runtime] of gpuhostd.conf(5), and the parts of [CDI] that runtimes need.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/core/settings.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Directories of the programs that NVIDIA's runtime classes run; empty: there is no toolkit.
struct ToolkitPlace {
    std::string directory{"/usr/bin"}; ///< the path in runtimes' configuration
    std::string programs{"/usr/bin"};  ///< where the programs are now, before the link in `directory` is set
    std::string otherwise{"/usr/bin"}; ///< used instead of `directory` while `directory` has no programs
    friend bool operator==(const ToolkitPlace&, const ToolkitPlace&) = default;
};

struct RuntimeSettings {
    bool configure = true;                    ///< Manage=: apply configures runtimes without a request
    std::vector<std::string> runtimes;        ///< names of runtimes; empty: all
    std::vector<std::string> classes{"auto"}; ///< "auto", "none", or names of NVIDIA's runtime classes
    std::string default_class;                ///< empty: the runtime's own default stays
    ToolkitPlace toolkit;                     ///< the toolkit in use
    bool restart = true;                      ///< restart runtimes whose configuration changed
    bool repair = true;                       ///< rewrite what another program has overwritten
    bool cdi = true;                          ///< [CDI] Manage=: specifications are written
    std::string cdi_directory{"/run/cdi"};    ///< directory of the specifications
    bool registry_hosts = false;              ///< runtimes must find images of bundles for pods
    friend bool operator==(const RuntimeSettings&, const RuntimeSettings&) = default;
};

[[nodiscard]] std::span<const core::SettingKey> runtime_setting_keys();
[[nodiscard]] RuntimeSettings runtime_settings(const core::Settings& settings, ToolkitPlace toolkit,
                                               bool registry_hosts);

/// Returns the settings as a step's arguments.
[[nodiscard]] base::Json to_json(const RuntimeSettings& settings);
/// Returns the settings in a form to compare with those of another run. Excludes `otherwise`, which has an
/// effect only until a toolkit is selected.
[[nodiscard]] base::Json effective_settings(RuntimeSettings settings);
[[nodiscard]] RuntimeSettings runtime_settings_from_json(const base::Json& value);

} // namespace gpuhost::runtime
