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

/// The owner of the host's driver, from Version=.
enum class DriverOwner {
    Gpuhost,
    Preinstalled, ///< installed by others: observed, never changed
    Nobody,       ///< off: not observed
};

/// The key that signs modules built here.
struct SigningSettings {
    std::string key; ///< a file, or a URI that begins with "pkcs11:"; empty: do not sign
    std::string certificate;
    std::string hash;
    std::string passphrase_file;
};

/// The section as values. A request may override some of them for one swap.
struct DriverSettings {
    DriverOwner owner = DriverOwner::Gpuhost;
    std::string version; ///< empty: the one selected for the kernel, or others own the driver
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
    bool clear_initramfs = true;   ///< remove GPU drivers from boot images
    std::vector<std::string> pins; ///< versions that must stay in the store
    SigningSettings signing;
};

/// The drop-in that 'driver pin' and 'driver unpin' write.
inline constexpr core::ListDropIn driver_pins{"/etc/gpuhost/gpuhostd.conf.d/50-pinned-drivers.conf",
                                              "gpuhostctl driver pin and unpin", "Driver", "Pin"};

[[nodiscard]] DriverSettings driver_settings(const core::Settings& settings);

} // namespace gpuhost::kmod
