// SPDX-License-Identifier: Apache-2.0
// Compares the offer to the kubelet with the host and the settings.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"
#include "daemon/devices/publish/devices_settings.hpp"

#include <string>
#include <vector>

namespace gpuhost::devices {

/// Returns the facts of the host and the settings from which an offer is made; {"driver": ""} if no driver is
/// loaded. Asks no GPU.
///
///   {"driver": version, "gpuhost": version, "gpus": [PCI addresses], "instances": [MIG instances],
///    "resource": name, "kubelet_root": directory, "mig_strategy": name,
///    "health": to_json(HealthRules), "labels": name, "taint_unhealthy": flag,
///    "device_list_strategy": [names], "config_file": config_identity()}
[[nodiscard]] base::Json offer_inputs(const base::Root& root, const DevicesSettings& settings);

/// Returns the following document. Never waits for a GPU or another process.
///
///   {"serve": flag, "inputs": offer_inputs(), "record": the OfferRecord or null,
///    "offer": {"id", "resource", "withdrawn", "gpus": number, "devices": [{"uuid", "address",
///    "instances": [{"uuid"}]}]} or null,
///    "exists": the file exists,
///    "registry": has_registry(), "features": has_features(), "running": gpuhost-devices runs,
///    "answer": {"id", "resources": […]} or null, "others": other_servers(),
///    "marked": [UUIDs], "mistake": known_mistake()}
[[nodiscard]] base::Json observe_devices(const base::Root& root, const DevicesSettings& settings);

/// Returns the version of the loaded driver; "" if none is loaded.
[[nodiscard]] std::string observed_driver(const base::Json& observed);

/// Returns true if an offer exists, or a file of labels for Node Feature Discovery that must change. /etc
/// keeps the file when a restart of the host ends the offer in /run.
[[nodiscard]] bool remains(const base::Json& observed);

/// Returns the reasons to run the step devices.publish, for people to read; empty if the offer is current.
/// Without an offer, the file of labels stays until a driver is loaded or nothing is to be served.
[[nodiscard]] std::vector<std::string> offer_reasons(const DevicesSettings& settings,
                                                     const base::Json& observed);

} // namespace gpuhost::devices
