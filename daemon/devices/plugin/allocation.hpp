// SPDX-License-Identifier: Apache-2.0
// The answer to the method Allocate of a device plugin.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/devices/resources.hpp"

#include <string>

namespace v1beta1 {
class AllocateRequest;
class AllocateResponse;
} // namespace v1beta1

namespace gpuhost::devices {

/// Returns how the container runtime gets the requested devices, by Resource::strategies as NVIDIA's device
/// plugin 0.20 does: each device once for all its replicas. With envvar and volume_mounts, the value of
/// NVIDIA_VISIBLE_DEVICES is that of volume_mounts. Only with one of these the container gets nodes in /dev.
///
/// Fails with Busy if `withdrawn` says why no device may be allocated now, or if a device is unhealthy, with
/// NotFound for an unknown device, and with InvalidArgument for several with Resource::one_each.
[[nodiscard]] base::Result<v1beta1::AllocateResponse>
allocate(const Resource& resource, const std::string& withdrawn, const v1beta1::AllocateRequest& request);

} // namespace gpuhost::devices
