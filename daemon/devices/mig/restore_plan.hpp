// SPDX-License-Identifier: Apache-2.0
// Decides which MIG instances of a GPU to create again. Pure functions of values.
#pragma once

#include "daemon/devices/mig/geometry.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpuhost::devices {

/// Placements that the driver permits, by the profile of a GPU instance. A profile that the driver does not
/// have is absent.
using PossiblePlacements = std::map<unsigned, std::vector<Placement>>;

/// The missing parts of one GPU instance.
struct Creation {
    GpuInstance gpu_instance; ///< as it was saved; its compute_instances are those to create
    bool exists = false;      ///< the GPU instance is there, only compute instances are missing
    friend bool operator==(const Creation&, const Creation&) = default;
};

struct RestorePlan {
    /// In ascending order of the ids, because the driver gives the lowest free id.
    std::vector<Creation> creations;
    std::size_t kept = 0; ///< compute instances that exist already
    /// Why the saved instances can't be created. If there is a problem, nothing is to be created.
    std::vector<std::string> problems;
};

/// Compares the instances that a GPU had with those that it has. An instance with the same profile and
/// placement stays. Any other instance is a problem: the GPU is left alone.
[[nodiscard]] RestorePlan plan_restore(const MigGpu& saved, const MigGpu& present,
                                       const PossiblePlacements& possible);

/// Returns why the known instances of a GPU could not be created again with the same UUIDs. Empty: they can,
/// or the GPU is not split.
[[nodiscard]] std::vector<std::string> obstacles(const MigGpu& gpu);

/// Returns the saved instances that a GPU does not have, whatever their UUIDs.
[[nodiscard]] std::vector<std::string> missing(const MigGpu& saved, const MigGpu& present);

/// Returns the differences between saved and present MIG devices of a GPU. Empty: they have the same UUIDs.
[[nodiscard]] std::vector<std::string> differences(const MigGpu& saved, const MigGpu& present);

} // namespace gpuhost::devices
