// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/devices/offer.hpp"

#include <optional>

namespace gpuhost::devices {

/// Returns the document of 'gpuhostctl gpu list':
///
///   {"resource", "mig_strategy", "withdrawn", "gpus": [GPUs as in the offer, with "resource",
///    "replicas" and "state"],
///    "resources": [{"name", "devices", "connected", "error", "problem"}]}
///
/// A state is "connected", "waiting" (no kubelet has the present offer), "withdrawn" or "left-out". Each GPU
/// and MIG instance also has "health": an element of to_json(DeviceHealth) without the UUID, and with
/// "advice". Its state is "unknown" if gpuhost-devices does not serve the present offer.
[[nodiscard]] base::Json list_gpus(const std::optional<Offer>& offer, const std::optional<Answer>& answer);

/// Returns the UUID of the device that a person names: its UUID, the PCI address of a GPU, with or without
/// the domain 0000, or the index of a GPU in the list, as nvidia-smi numbers them. "": none.
/// `gpus` is a list of objects with "uuid", "address" and "instances", whose elements have "uuid".
[[nodiscard]] std::string find_device(const base::Json& gpus, std::string_view name);
/// Returns the GPU that has this device; nullptr if there is none.
[[nodiscard]] const base::Json* find_gpu(const base::Json& gpus, std::string_view name);

} // namespace gpuhost::devices
