// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/devices/offer.hpp"

#include <optional>

namespace gpuhost::devices {

/// Returns the document of 'gpuhostctl gpu list':
///
///   {"resource", "mig_strategy", "withdrawn", "gpus": [GPUs as in the offer, with "resource" and "state"],
///    "resources": [{"name", "devices", "connected", "error", "problem"}]}
///
/// A state is "connected", "waiting" (no kubelet has the present offer), "withdrawn" or "left-out".
[[nodiscard]] base::Json list_gpus(const std::optional<Offer>& offer, const std::optional<Answer>& answer);

} // namespace gpuhost::devices
