// SPDX-License-Identifier: Apache-2.0
// The fields of a policy that gpuhost supports. Paths are those of spec in the GPU Operator's ClusterPolicy;
// fields below "rollout" are gpuhost's own. gpuhost-policy(5) describes them.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

enum class FieldKind {
    Boolean,
    Count,        ///< an integer from 0
    CountOrShare, ///< a Count, or a percentage such as "25%"
    Seconds,      ///< an integer from 0; 0: unlimited
    Text,
    Choice,
    Version,      ///< version of a driver
    ToolkitImage, ///< a tag of NVIDIA's toolkit image, see toolkit_version_of()
    List,         ///< the parser of the list checks its elements
};

struct PolicyField {
    std::string_view path;
    FieldKind kind;
    std::string_view fallback; ///< default, as JSON
    std::string_view choices = {};
};

[[nodiscard]] std::span<const PolicyField> policy_fields();
[[nodiscard]] const PolicyField* find_field(std::string_view path);
/// Returns true if `path` is an object of the policy that contains supported fields.
[[nodiscard]] bool has_fields_below(std::string_view path);

/// Returns an empty text for a valid value, otherwise a description of valid values for people.
[[nodiscard]] std::string wrong_value(const PolicyField& field, const base::Json& value);

/// Returns why a field of the GPU Operator's policy has no effect here.
[[nodiscard]] std::string why_ignored(std::string_view path);

/// Returns the path of the supported field beside `path` with the most similar name; empty if none is
/// similar.
[[nodiscard]] std::string nearest_field(std::string_view path);

/// The path of the environment of k8s-driver-manager. In the GPU Operator's policy it is a list of names and
/// values. Here, each variable is a field below this path.
inline constexpr std::string_view manager_env = "driver.manager.env";

} // namespace gpuhost::cluster
