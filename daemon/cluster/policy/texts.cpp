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
        auto documents = base::parse_yaml_documents(text, name);
        if (!documents)
            return problem(name, documents.error().message);
        if (documents->size() > 1)
            problem(name, "has more than one YAML document: only the first is read");
        layers.push_back({name, documents->empty() ? Json() : std::move(documents->front().value)});
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
