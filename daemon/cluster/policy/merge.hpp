// SPDX-License-Identifier: Apache-2.0
// Merges several sources into one policy and records the origin of each value. Pure functions.
#pragma once

#include "daemon/base/json.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// One source of the policy, in the form of a ClusterPolicy's spec.
struct PolicyLayer {
    std::string name; ///< display name: "ConfigMap gpuhost/gpuhost-policy"
    base::Json spec;
};

struct PolicyValue {
    base::Json value;
    std::string source;
};

struct IgnoredField {
    std::string path;
    std::string source;
    std::string reason;
};
using IgnoredFields = std::vector<IgnoredField>;

/// An invalid value, or an unknown field of gpuhost.
struct PolicyProblem {
    std::string text;        ///< for people, with the source and the path
    std::string source = {}; ///< name of a PolicyLayer
    std::string path = {};   ///< in the layer's spec, such as "rollout.waves[0].size"; empty: all of it
};

struct MergedPolicy {
    std::map<std::string, PolicyValue, std::less<>> values; ///< each of policy_fields()
    /// Fields without an effect here. Also invalid values that a later layer overrides, or whose part of the
    /// policy is turned off.
    IgnoredFields ignored;
    /// Messages about invalid values. The value that an invalid one would have replaced remains in effect.
    std::vector<PolicyProblem> problems;

    [[nodiscard]] const base::Json& at(std::string_view path) const {
        return values.find(path)->second.value;
    }
};

/// Merges the layers. Later layers override earlier ones, field by field; lists are replaced as a whole.
[[nodiscard]] MergedPolicy merge_policy(std::span<const PolicyLayer> layers);
/// Returns `policy` with one more layer on top. `ignored` and `problems` are those of the new layer alone.
[[nodiscard]] MergedPolicy with_layer(const MergedPolicy& policy, const PolicyLayer& layer);

/// Returns the texts of the problems.
[[nodiscard]] std::vector<std::string> texts_of(std::span<const PolicyProblem> problems);

/// Returns {"fields": [{"path", "value", "source"}], "ignored": […], "problems": […]}.
[[nodiscard]] base::Json to_json(const MergedPolicy& policy);

} // namespace gpuhost::cluster
