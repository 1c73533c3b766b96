// SPDX-License-Identifier: Apache-2.0
// The consequences of the driver's errors, by NVIDIA's catalogue of Xids (column "immediate action",
// https://docs.nvidia.com/deploy/xid-errors/). The driver's own word, Xid 154, takes precedence.
#pragma once

#include "daemon/devices/device_health.hpp"

namespace gpuhost::devices {

/// Returns true for errors of NVLink, whose messages say whether they are fatal.
[[nodiscard]] bool is_nvlink_xid(unsigned xid);

/// Returns the action that ends the error. Recovery::none: the device stays usable, because only an
/// application has failed, the driver has handled the error, or the catalogue rates it not at all.
/// `fatal`: the message of an NVLink error says so.
[[nodiscard]] Recovery xid_recovery(unsigned xid, bool fatal);

/// Returns the same for NVML's number of a recovery action (nvmlDeviceGpuRecoveryAction_t), as Xid 154 gives
/// it. An unknown action counts as a reset.
[[nodiscard]] Recovery action_recovery(unsigned action);

} // namespace gpuhost::devices
