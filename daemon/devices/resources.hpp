// SPDX-License-Identifier: Apache-2.0
// Derives the kubelet's resources from an offer.
#pragma once

#include "daemon/devices/offer.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// A device of a resource.
struct ResourceDevice {
    /// The UUID of a GPU or of a MIG instance, or replica_id(). device_of() is the name of the CDI device.
    std::string id;
    std::string gpu; ///< UUID of the GPU
    std::optional<unsigned> numa;
    std::string unhealthy = {}; ///< why no further pod may get it; empty: one may
    std::vector<NvLinks> nvlinks = {};
    std::string index = {};              ///< that of the GPU, and of a MIG instance: "0", "0:1"
    std::vector<std::string> nodes = {}; ///< in /dev: of the GPU, and of a MIG instance
    friend bool operator==(const ResourceDevice&, const ResourceDevice&) = default;
};

struct Resource {
    std::string name; ///< "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
    std::vector<ResourceDevice> devices;
    std::string problem;   ///< why devices are missing; empty: none
    unsigned replicas = 1; ///< of each device; 1: they are not shared
    bool one_each = false; ///< a container may have only one replica
    bool packed = false;   ///< see Sharing::packed
    ListStrategies strategies{ListStrategy::cdi_cri};
    IdStrategy ids = IdStrategy::uuid;
    std::optional<std::vector<std::string>> nodes = {}; ///< Offer::nodes
    friend bool operator==(const Resource&, const Resource&) = default;
};

/// Returns the name of the resource of a MIG profile, before a renaming.
[[nodiscard]] std::string mig_resource(const Offer& offer, std::string profile);

/// Returns the resources of an offer, sorted by name. The resource of whole GPUs is always there, so that the
/// kubelet reports 0 of it instead of a former number.
[[nodiscard]] std::vector<Resource> resources_of(const Offer& offer);

} // namespace gpuhost::devices
