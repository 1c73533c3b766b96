// SPDX-License-Identifier: Apache-2.0
// The settings in section [Driver] of gpuhostd.conf.
#pragma once

#include "daemon/core/settings_drop_in.hpp"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::kmod {

[[nodiscard]] std::span<const core::SettingKey> driver_setting_keys();

/// The owner of the host's driver, who installs and loads it. The setting Version= determines the owner.
enum class DriverOwner {
    Gpuhost,
    /// Version=preinstalled: the administrator; gpuhostd observes the driver and never changes it.
    Preinstalled,
    Nobody, ///< Version=off: gpuhostd does not observe the driver either
};

/// The settings Signing…=: the key that signs kernel modules that are built on this host.
struct SigningSettings {
    std::string key; ///< path of a file, or a URI that begins with "pkcs11:"; empty: do not sign
    std::string certificate;
    std::string hash;
    std::string passphrase_file;
};
/// Returns true if the key is a URI with a PIN in it. Settings are not secret, so this is a mistake.
[[nodiscard]] bool has_pin(std::string_view key);

/// The section [Driver]. A request on D-Bus may override some values for one swap, such as the holder policy.
struct DriverSettings {
    DriverOwner owner = DriverOwner::Gpuhost;
    std::string version; ///< empty: not set, or `owner` is not Gpuhost
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
    bool clear_initramfs = true;   ///< Initramfs=exclude: remove GPU drivers from initramfs images
    std::vector<std::string> pins; ///< Pin=: driver versions that must stay in the store
    SigningSettings signing;
};

/// The drop-in of gpuhostd.conf that 'gpuhostctl driver pin' and 'unpin' write.
inline constexpr core::ListDropIn driver_pins{"/etc/gpuhost/gpuhostd.conf.d/50-pinned-drivers.conf",
                                              "gpuhostctl driver pin and unpin", "Driver", "Pin"};

[[nodiscard]] DriverSettings driver_settings(const core::Settings& settings);

} // namespace gpuhost::kmod
