// SPDX-License-Identifier: Apache-2.0
// Keeps the labels that describe GPUs on this host's Node.
#pragma once

#include "daemon/cluster/node/node_change.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::cluster {

/// An annotation with the names of the labels that gpuhost-cluster has written, separated by commas.
inline constexpr const char* gpu_labels_annotation = "gpuhost.io/gpu-labels";

/// Returns true for a label that describes GPUs, so that gpuhost-cluster may write and remove it. The names
/// are those in packaging/kubernetes/host-policy.yaml. Labels by which people configure NVIDIA's operands,
/// such as nvidia.com/mig.config, are not among them.
[[nodiscard]] bool describes_gpus(std::string_view label);

/// Returns merge patches that bring the labels of `node` to `wanted`: one for each label that differs, and
/// one for the annotation and for the labels that gpuhost-cluster wrote earlier and that are not wanted.
/// Labels that Node Feature Discovery owns according to its annotation stay.
[[nodiscard]] std::vector<NodePatch> gpu_label_patches(const base::Json& node,
                                                       const std::map<std::string, std::string>& wanted);
/// Joins some of these patches. Names only the first changes in its line of the log.
[[nodiscard]] NodePatch joined_labels(std::vector<NodePatch>&& patches);

} // namespace gpuhost::cluster
