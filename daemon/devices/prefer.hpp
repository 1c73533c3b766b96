// SPDX-License-Identifier: Apache-2.0
// Chooses devices of a resource for a container.
#pragma once

#include "daemon/devices/resources.hpp"

#include <set>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// Returns `count` of the available devices for one container. Those in `required` are first. The others are
/// GPUs as choose_linked() chooses them; without NVLinks or above its limit, devices of the NUMA nodes where
/// the container has the most, and of GPUs that are in use already before unused ones. Returns fewer if there
/// are not enough. Unknown ids are ignored. Replicas are chosen as by NVIDIA's device plugin:
/// each time one of the device that the fewest containers have, or the most if Resource::packed is set.
[[nodiscard]] std::vector<std::string> prefer(const Resource& resource,
                                              const std::set<std::string>& available,
                                              const std::set<std::string>& required, std::size_t count);

} // namespace gpuhost::devices
