// SPDX-License-Identifier: Apache-2.0
// [Driver] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings_drop_in.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] std::span<const core::SettingKey> driver_setting_keys();

/// Whose the host's driver is, by Version=.
enum class DriverOwner {
    Gpuhost,
    Preinstalled, ///< of whoever installed it: looked at, never touched
    Nobody,       ///< off: not even looked at
};

/// With which key modules that are built here are signed.
struct SigningSettings {
    std::string key; ///< a file, or a URI that begins with "pkcs11:"; empty: with none
    std::string certificate;
    std::string hash;
    std::string passphrase_file;
};

/// The section as values; a request may change some of them for its one swap.
struct DriverSettings {
    DriverOwner owner = DriverOwner::Gpuhost;
    std::string version; ///< empty: the one selected for the kernel, or somebody else's
    std::string flavour; ///< "open", "proprietary" or "any"
    std::vector<std::string> modules;
    std::vector<std::string> parameters;
    std::vector<std::string> client_units;
    std::string holder_policy;
    std::chrono::milliseconds holder_timeout{0};
    std::chrono::milliseconds terminate_grace{0};
    std::chrono::milliseconds module_deadline{0};
    std::string validation;
    bool build_at_boot = true;
    bool clear_initramfs = true;   ///< of drivers of a GPU
    std::vector<std::string> pins; ///< versions that stay in the store
    SigningSettings signing;
};

/// What 'driver pin' and 'driver unpin' write.
inline constexpr core::ListDropIn driver_pins{"/etc/gpuhost/gpuhostd.conf.d/50-pinned-drivers.conf",
                                              "gpuhostctl driver pin and unpin", "Driver", "Pin"};

[[nodiscard]] DriverSettings driver_settings(const core::Settings& settings);

} // namespace gpuhost::kmod
