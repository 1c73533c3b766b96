// SPDX-License-Identifier: Apache-2.0
// The contents of the policy's sources, and the policy that they make. Pure functions.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/policy/merge.hpp"

#include <optional>
#include <string>

namespace gpuhost::cluster {

inline constexpr const char* policy_file = "/etc/gpuhost/cluster/policy.yaml";
inline constexpr const char* cluster_policies_path = "/apis/nvidia.com/v1/clusterpolicies";
inline constexpr const char* config_maps_path = "/api/v1/namespaces/gpuhost/configmaps";
inline constexpr const char* config_map = "gpuhost-policy";
inline constexpr const char* config_map_key = "policy.yaml";
inline constexpr const char* config_map_layer = "ConfigMap gpuhost/gpuhost-policy"; ///< PolicyLayer::name

/// The contents of the policy's sources. merge_texts() reports invalid contents as problems of the policy.
struct PolicyTexts {
    std::optional<std::string> file;
    base::Json cluster_policy; ///< the object; null: none
    base::Json config_map;     ///< the object; null: none
};
[[nodiscard]] MergedPolicy merge_texts(const PolicyTexts& texts);

} // namespace gpuhost::cluster
