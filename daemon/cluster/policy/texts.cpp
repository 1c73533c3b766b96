// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/texts.hpp"

#include "daemon/base/yaml.hpp"

#include <utility>

namespace gpuhost::cluster {

using base::Json;
using base::member;
using base::string_or;

namespace {

constexpr std::size_t longest = 256U << 10U; ///< bytes of a policy's text

class Layers {
  public:
    void text(const std::string& name, const std::string& text) {
        if (text.size() > longest)
            return problem(name, "is longer than 256 KiB");
        auto spec = base::parse_yaml(text, name);
        if (!spec)
            return problem(name, spec.error().message);
        layers.push_back({name, std::move(*spec)});
    }

    void problem(const std::string& name, const std::string& what) {
        problems.push_back({what.find(name) == std::string::npos ? name + ": " + what : what, name, ""});
    }

    std::vector<PolicyLayer> layers;
    std::vector<PolicyProblem> problems;
};

} // namespace

MergedPolicy merge_texts(const PolicyTexts& texts) {
    Layers all;
    if (texts.file)
        all.text(policy_file, *texts.file);
    if (!texts.cluster_policy.is_null())
        all.layers.push_back(
            {"ClusterPolicy " + string_or(member(texts.cluster_policy, "metadata"), "name", ""),
             member(texts.cluster_policy, "spec")});
    if (!texts.config_map.is_null()) {
        const std::string name(config_map_layer);
        const Json& data = member(texts.config_map, "data");
        const std::string text = string_or(data, config_map_key, "");
        if (text.empty())
            all.problem(name, "has no '" + std::string(config_map_key) + "'");
        else
            all.text(name, text);
    }
    MergedPolicy merged = merge_policy(all.layers);
    merged.problems.insert(merged.problems.begin(), all.problems.begin(), all.problems.end());
    return merged;
}

} // namespace gpuhost::cluster
