// SPDX-License-Identifier: Apache-2.0
// Section [Devices] of gpuhostd.conf(5).
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/core/settings.hpp"
#include "daemon/devices/offer.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

struct DevicesSettings {
    bool serve = false;       ///< Serve=plugin
    std::string resource;     ///< "nvidia.com/gpu"
    std::string kubelet_root; ///< "/var/lib/kubelet"
    MigStrategy mig = MigStrategy::none;
    std::vector<unsigned> ignore_xids;
    std::vector<unsigned> fatal_xids;
    LabelMode labels = LabelMode::node;
    bool taint_unhealthy = false;                     ///< UnhealthyTaint=
    ListStrategies strategies{ListStrategy::cdi_cri}; ///< DeviceListStrategy=
    IdStrategy ids = IdStrategy::uuid;                ///< DeviceIDStrategy=
    bool pass_nodes = false;                          ///< PassDeviceSpecs=
    std::string config_file; ///< path of the file with the sharing; empty: no device is shared
    /// Why a value can't be used; empty: all can.
    std::string mistake;
};

[[nodiscard]] std::span<const core::SettingKey> devices_setting_keys();
[[nodiscard]] DevicesSettings devices_settings(const core::Settings& settings);

/// Returns why the text is not the name of a resource; empty if it is.
[[nodiscard]] std::string resource_mistake(std::string_view value);
/// Returns false if the paths of the sockets of a resource are too long when it is renamed for its sharing.
[[nodiscard]] bool renamed_socket_fits(const DevicesSettings& settings, std::string_view resource);

/// The settings as args of a step.
[[nodiscard]] base::Json to_json(const DevicesSettings& settings);
[[nodiscard]] DevicesSettings devices_settings_from_json(const base::Json& value);

} // namespace gpuhost::devices
