// SPDX-License-Identifier: Apache-2.0
// Time slices: a device that several containers may have at the same time, as replicas, with the names and
// ids of NVIDIA's device plugin. The driver lets their processes compute in turns.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

/// Limit of the replicas of one device.
inline constexpr unsigned most_replicas = 256;
/// Length of the longest "::N" that replica_id() appends.
inline constexpr std::size_t longest_replica = 5;
/// Suffix of the name of a resource with Sharing::renamed.
inline constexpr std::string_view shared_suffix = ".shared";

struct SharedResource {
    std::string name;      ///< before a renaming: "nvidia.com/gpu"
    unsigned replicas = 2; ///< of each device, from 2 to most_replicas
    friend bool operator==(const SharedResource&, const SharedResource&) = default;
};

struct Sharing {
    std::vector<SharedResource> resources; ///< all others are not shared
    bool renamed = false;                  ///< the shared resources have the names NAME + shared_suffix
    bool one_each = false;                 ///< a container may have only one replica
    bool packed = false; ///< a container gets the device that the most containers have, else the fewest
    friend bool operator==(const Sharing&, const Sharing&) = default;
};

/// Returns the number of replicas of each device; 1: the resource is not shared.
[[nodiscard]] unsigned replicas_of(const Sharing& sharing, std::string_view resource);

[[nodiscard]] base::Json to_json(const Sharing& sharing);
/// Returns an empty sharing for null. Fails with BadContent for an invalid number of replicas and a resource
/// that occurs twice.
[[nodiscard]] base::Result<Sharing> sharing_from_json(const base::Json& value);

/// Returns "UUID::NUMBER".
[[nodiscard]] std::string replica_id(const std::string& uuid, unsigned number);
/// Returns the UUID of the device that a kubelet's id names: that of a replica, or of a whole device.
[[nodiscard]] std::string_view device_of(std::string_view id);

} // namespace gpuhost::devices
