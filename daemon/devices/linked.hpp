// SPDX-License-Identifier: Apache-2.0
// Chooses GPUs by the NVLinks between them.
#pragma once

#include "daemon/devices/resources.hpp"

#include <cstddef>
#include <vector>

namespace gpuhost::devices {

/// Limits choose_linked() to 12,870 sets.
inline constexpr std::size_t most_linked = 16;

/// Returns whether two of the devices are connected by an NVLink.
[[nodiscard]] bool has_nvlinks(const std::vector<const ResourceDevice*>& devices);

/// Returns the `count` devices that have the most NVLinks between them, with the first `required` ones. Among
/// equal sets it returns the one with the most pairs in one NUMA node, then the one that takes the fewest
/// NVLinks and neighbours from the other devices, so that these remain a good choice, then the first. Counts
/// a link that both GPUs report. `required` <= `count` <= the number of devices <= `most_linked`.
[[nodiscard]] std::vector<const ResourceDevice*>
choose_linked(const std::vector<const ResourceDevice*>& devices, std::size_t required, std::size_t count);

} // namespace gpuhost::devices
