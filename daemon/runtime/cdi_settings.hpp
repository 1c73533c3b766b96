// SPDX-License-Identifier: Apache-2.0
// Section [CDI] of gpuhostd.conf(5).
#pragma once

#include "daemon/core/settings.hpp"

#include <span>
#include <string>

namespace gpuhost::runtime {

struct CdiSettings {
    bool enable = true;    ///< Manage=: gpuhost writes specifications
    std::string directory; ///< of the specifications: "/run/cdi" or "/etc/cdi"
    /// Containers get the groups of device nodes: "yes", "no", or "auto" (if all runtimes support groups).
    std::string groups = "auto";
    bool repair = true; ///< rewrite specifications that another program has changed
};

[[nodiscard]] std::span<const core::SettingKey> cdi_setting_keys();
[[nodiscard]] CdiSettings cdi_settings(const core::Settings& settings);

} // namespace gpuhost::runtime
