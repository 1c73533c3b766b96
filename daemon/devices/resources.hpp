// SPDX-License-Identifier: Apache-2.0
// Derives the kubelet's resources from an offer, and chooses devices for a container.
#pragma once

#include "daemon/devices/offer.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// A device of a resource. Its id is the UUID of a GPU or of a MIG instance, and the name of its CDI device.
struct ResourceDevice {
    std::string id;
    std::string gpu; ///< UUID of the GPU
    std::optional<unsigned> numa;
    std::string unhealthy = {}; ///< why no further pod may get it; empty: one may
    friend bool operator==(const ResourceDevice&, const ResourceDevice&) = default;
};

struct Resource {
    std::string name; ///< "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
    std::vector<ResourceDevice> devices;
    std::string problem; ///< why devices are missing; empty: none
    friend bool operator==(const Resource&, const Resource&) = default;
};

/// Returns the resources of an offer, sorted by name. The resource of whole GPUs is always there, so that the
/// kubelet reports 0 of it instead of a former number.
[[nodiscard]] std::vector<Resource> resources_of(const Offer& offer);

/// Returns `count` of the available devices for one container: those in `required`, then devices of the NUMA
/// nodes where the container has the most, and GPUs that are in use already before unused ones. Returns
/// fewer if there are not enough. Unknown ids are ignored.
[[nodiscard]] std::vector<std::string> prefer(const Resource& resource,
                                              const std::set<std::string>& available,
                                              const std::set<std::string>& required, std::size_t count);

} // namespace gpuhost::devices
