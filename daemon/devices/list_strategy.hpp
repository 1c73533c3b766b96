// SPDX-License-Identifier: Apache-2.0
// How the kubelet tells the container runtime which devices a container has, with the names and meanings of
// NVIDIA's device plugin 0.20.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::devices {

enum class ListStrategy {
    cdi_cri,         ///< names of CDI devices in a field of the CRI
    cdi_annotations, ///< the same names in an annotation of the container
    envvar,          ///< NVIDIA_VISIBLE_DEVICES with the UUIDs, for NVIDIA's runtime
    volume_mounts,   ///< a mount for each UUID, for NVIDIA's runtime
};
/// The strategies in use, all at the same time. Not empty.
using ListStrategies = std::set<ListStrategy>;
inline constexpr std::size_t most_list_strategies = 4;

/// How container runtimes name a device.
enum class IdStrategy {
    uuid,
    index, ///< in NVML: "0" of a GPU, "0:1" of a MIG instance
};
inline constexpr std::string_view id_strategy_names = "uuid index";
[[nodiscard]] std::string_view name_of(IdStrategy strategy);
[[nodiscard]] std::optional<IdStrategy> id_strategy(std::string_view name);

[[nodiscard]] std::string_view name_of(ListStrategy strategy);
[[nodiscard]] std::optional<ListStrategy> list_strategy(std::string_view name);
/// Returns the names, in the order of the enumeration.
[[nodiscard]] std::vector<std::string> names_of(const ListStrategies& strategies);

/// Returns all names, for a message: "cdi-cri, …".
[[nodiscard]] std::string list_strategy_names();

/// Returns the strategies that the words name; std::nullopt if there are none, or for an unknown word.
[[nodiscard]] std::optional<ListStrategies> list_strategies(const std::vector<std::string>& words);
/// Returns why list_strategies() refuses the words, as a part of a sentence: "has 'x', which is …"; empty if
/// it does not.
[[nodiscard]] std::string list_strategies_mistake(const std::vector<std::string>& words);
/// Parses a list of names. Returns only cdi-cri for null: offers of earlier versions have no list. Fails with
/// BadContent.
[[nodiscard]] base::Result<ListStrategies> list_strategies_from_json(const base::Json& value);

/// Returns true if a strategy names CDI devices. Without one, a container gets its devices only from NVIDIA's
/// runtime.
[[nodiscard]] bool uses_cdi(const ListStrategies& strategies);
/// Returns true if a strategy is for NVIDIA's runtime.
[[nodiscard]] bool uses_nvidias_runtime(const ListStrategies& strategies);

} // namespace gpuhost::devices
