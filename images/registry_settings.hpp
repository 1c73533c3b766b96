// SPDX-License-Identifier: Apache-2.0
// [Registry] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings.hpp"

#include <chrono>
#include <cstdint>
#include <span>

namespace gpuhost::images {

[[nodiscard]] std::span<const core::SettingKey> registry_setting_keys();

struct RegistrySettings {
    std::chrono::milliseconds idle_timeout{0}; ///< the registry exits after this time without a connection
    unsigned connections = 0;                  ///< limit of concurrent connections
};

[[nodiscard]] RegistrySettings registry_settings(const core::Settings& settings);

} // namespace gpuhost::images
