// SPDX-License-Identifier: Apache-2.0
// [Driver] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] std::span<const core::SettingKey> driver_setting_keys();

/// The section as values; a request may change some of them for its one swap.
struct DriverSettings {
    std::string version; ///< empty: the one selected for the kernel
    std::string flavour; ///< "open", "proprietary" or "any"
    std::vector<std::string> modules;
    std::vector<std::string> parameters;
    std::vector<std::string> client_units;
    std::string holder_policy;
    std::chrono::milliseconds holder_timeout{0};
    std::chrono::milliseconds terminate_grace{0};
    std::chrono::milliseconds module_deadline{0};
    std::string validation;
};

[[nodiscard]] DriverSettings driver_settings(const core::Settings& settings);

} // namespace gpuhost::kmod
