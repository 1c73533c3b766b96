// SPDX-License-Identifier: Apache-2.0
// Derives what a Node shows of the GPUs that are offered to the kubelet. A pure function.
#pragma once

#include "daemon/cluster/node/readiness.hpp"
#include "daemon/devices/offer.hpp"

#include <optional>

namespace gpuhost {

/// The files of gpuhostd and of gpuhost-devices.
struct DeviceFacts {
    std::optional<devices::Offer> offer;
    std::optional<devices::Answer> answer;
    bool unreadable = false; ///< the offer exists, but can't be used
};

/// Returns nullopt if it is not known whether GPUs are offered. `settled`: an absent offer is final. After a
/// restart of the host, labels therefore stay until gpuhostd has decided.
[[nodiscard]] std::optional<cluster::NodeDevices> node_devices(const DeviceFacts& facts, bool settled);

} // namespace gpuhost
