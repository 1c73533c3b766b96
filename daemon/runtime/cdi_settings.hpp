// SPDX-License-Identifier: Apache-2.0
// Section [CDI] of gpuhostd.conf(5).
#pragma once

#include "daemon/core/settings.hpp"

#include <span>
#include <string>

namespace gpuhost::runtime {

struct CdiSettings {
    bool enable = true;
    std::string directory;       ///< of the specifications: "/run/cdi" or "/etc/cdi"
    std::string groups = "auto"; ///< "yes", "no", or "auto": if all runtimes of the host support them
    bool repair = true;          ///< rewrite what another program has changed
};

[[nodiscard]] std::span<const core::SettingKey> cdi_setting_keys();
[[nodiscard]] CdiSettings cdi_settings(const core::Settings& settings);

} // namespace gpuhost::runtime
