// SPDX-License-Identifier: Apache-2.0
// Keeps the labels that describe GPUs on this host's Node.
#pragma once

#include "daemon/cluster/node/node_change.hpp"

#include <map>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

/// An annotation with the names of the labels that gpuhost-cluster has written, separated by commas.
inline constexpr const char* gpu_labels_annotation = "gpuhost.io/gpu-labels";

/// Returns true for a label that describes GPUs, so that gpuhost-cluster may write and remove it. The names
/// are those in packaging/kubernetes/host-policy.yaml. Labels by which people configure NVIDIA's operands,
/// such as nvidia.com/mig.config, are not among them.
[[nodiscard]] bool describes_gpus(std::string_view label);

/// Returns a merge patch that brings the labels of `node` to `wanted`: it writes those that differ, and
/// removes those that gpuhost-cluster wrote earlier and that are not wanted. Labels that Node Feature
/// Discovery owns according to its annotation stay. The body is null if nothing changes.
[[nodiscard]] NodePatch gpu_label_patch(const base::Json& node,
                                        const std::map<std::string, std::string>& wanted);

} // namespace gpuhost::cluster
