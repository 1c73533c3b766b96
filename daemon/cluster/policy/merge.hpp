// SPDX-License-Identifier: Apache-2.0
// One policy out of several sources, with each value's origin. Pure.
#pragma once

#include "daemon/base/json.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gpuhost::cluster {

/// One source, in the shape of a ClusterPolicy's spec.
struct PolicyLayer {
    std::string name; ///< as a person would call it: "ConfigMap gpuhost/gpuhost-policy"
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

struct MergedPolicy {
    std::map<std::string, PolicyValue, std::less<>> values; ///< each of policy_fields()
    IgnoredFields ignored;             ///< also wrong values that are overridden, or that nobody asks for
    std::vector<std::string> problems; ///< values that are none; what they would have replaced stands

    [[nodiscard]] const base::Json& at(std::string_view path) const {
        return values.find(path)->second.value;
    }
};

/// Later layers have the last word, field by field; lists are taken whole.
[[nodiscard]] MergedPolicy merge_policy(std::span<const PolicyLayer> layers);
/// `policy` with one more layer on top, without what it says of ignored fields and problems.
[[nodiscard]] MergedPolicy with_layer(const MergedPolicy& policy, const PolicyLayer& layer);

/// {"fields": [{"path", "value", "source"}], "ignored": […], "problems": […]}
[[nodiscard]] base::Json to_json(const MergedPolicy& policy);

} // namespace gpuhost::cluster
