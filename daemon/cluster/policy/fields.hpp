// SPDX-License-Identifier: Apache-2.0
// Which fields of a policy count here. Paths are those of spec of the GPU Operator's ClusterPolicy; what is below
// "rollout" is ours. gpuhost-policy(5) describes them.
#pragma once

#include "daemon/base/json.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

enum class FieldKind {
    Boolean,
    Count,        ///< a whole number from 0
    CountOrShare, ///< that, or "25%"
    Seconds,      ///< a whole number; 0: without end
    Text,
    Choice,
    Version,      ///< of a driver
    ToolkitImage, ///< a tag of NVIDIA's: toolkit_version_of()
    List,         ///< read by who knows its elements
};

struct PolicyField {
    std::string_view path;
    FieldKind kind;
    std::string_view fallback; ///< as JSON
    std::string_view choices = {};
};

[[nodiscard]] std::span<const PolicyField> policy_fields();
[[nodiscard]] const PolicyField* find_field(std::string_view path);
/// Is `path` an object that has fields?
[[nodiscard]] bool has_fields_below(std::string_view path);

/// Empty if the value is one of this field; else what it is to be, as a person would say it.
[[nodiscard]] std::string wrong_value(const PolicyField& field, const base::Json& value);

/// Why the GPU Operator's field does nothing here.
[[nodiscard]] std::string_view why_ignored(std::string_view path);

/// The environment of k8s-driver-manager: a list of names in the GPU Operator's policy, fields of this name here.
inline constexpr std::string_view manager_env = "driver.manager.env";

} // namespace gpuhost::cluster
