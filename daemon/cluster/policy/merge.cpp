// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/merge.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/cluster/policy/fields.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Json;
using base::string_or;

namespace {

/// The field that Helm and the CRD call by different names.
constexpr std::string_view helm_name = "driver.upgradePolicy.gpuPodDeletion";
constexpr std::string_view crd_name = "driver.upgradePolicy.podDeletion";

class Overlay {
  public:
    /// Sets the values of `layer` in `policy`. `wrong` collects invalid values. A valid value in a later
    /// layer removes the invalid values of its field.
    Overlay(MergedPolicy& policy, const PolicyLayer& layer, IgnoredFields& wrong)
        : policy_(policy), layer_(layer), wrong_(wrong) {
        if (layer.spec.is_object())
            walk(layer.spec, "");
        else if (!layer.spec.is_null())
            problem("", "must be a map of fields");
    }

  private:
    void problem(const std::string& path, const std::string& text) {
        policy_.problems.push_back({layer_.name + ": " + text, layer_.name, path});
    }

    void walk(const Json& object, const std::string& above) {
        for (const auto& [key, value] : object.items()) {
            const std::string path = above.empty() ? key : above + "." + key;
            if (path == manager_env)
                environment(value);
            else
                field(path == helm_name ? std::string(crd_name) : path, value);
        }
    }

    void field(const std::string& path, const Json& value) {
        if (value.is_null())
            return;
        if (const PolicyField* known = find_field(path); known != nullptr)
            set(*known, value);
        else if (value.is_object() && has_fields_below(path))
            walk(value, path);
        else if (has_fields_below(path))
            problem(path, path + " must be a map of fields");
        else if (base::starts_with(path, "rollout."))
            // Unknown fields of gpuhost are problems, because a misspelt field may be one that should hold
            // back a rollout.
            unknown(path);
        else
            policy_.ignored.push_back({path, layer_.name, why_ignored(path)});
    }

    void unknown(const std::string& path) {
        const std::string near = nearest_field(path);
        problem(path, "unknown field " + path +
                          (near.empty() ? "; gpuhost-policy(5) lists all fields"
                                        : " (did you mean '" + near + "'?)"));
    }

    void set(const PolicyField& known, const Json& value) {
        const std::string path(known.path);
        if (const std::string wanted = wrong_value(known, value); !wanted.empty()) {
            wrong_.push_back(
                {path, layer_.name, "must be " + wanted + ", not " + base::dump(value).substr(0, 80)});
            return;
        }
        policy_.values[path] = {value, layer_.name};
        const auto overridden = std::stable_partition(
            wrong_.begin(), wrong_.end(), [&](const IgnoredField& field) { return field.path != path; });
        for (auto field = overridden; field != wrong_.end(); ++field)
            policy_.ignored.push_back(
                {path, field->source, field->reason + "; " + layer_.name + " overrides it"});
        wrong_.erase(overridden, wrong_.end());
    }

    /// Reads the environment of k8s-driver-manager: [{"name": "ENABLE_AUTO_DRAIN", "value": "true"}].
    void environment(const Json& list) {
        if (!list.is_array())
            return;
        for (const Json& variable : list) {
            const std::string name = string_or(variable, "name", "");
            const std::string text = string_or(variable, "value", "");
            const std::string path = std::string(manager_env) + "." + name;
            const PolicyField* known = find_field(path);
            if (known == nullptr)
                policy_.ignored.push_back({path, layer_.name, why_ignored(path)});
            else
                set(*known, as_kind(known->kind, text));
        }
    }

    /// Converts the text of an environment variable to the type of its field.
    static Json as_kind(FieldKind kind, const std::string& text) {
        if (kind == FieldKind::Boolean && (text == "true" || text == "false"))
            return text == "true";
        if (kind == FieldKind::Seconds) {
            const bool unit = base::ends_with(text, "s");
            if (const auto number = base::parse_uint(unit ? text.substr(0, text.size() - 1) : text))
                return *number;
            if (const auto span = base::parse_span(text))
                return span->count() / 1000;
        }
        return text;
    }

    MergedPolicy& policy_;
    const PolicyLayer& layer_;
    IgnoredFields& wrong_;
};

/// Returns the field NAME.enabled that turns off the part of the policy with the field `path`; null if there
/// is none.
const PolicyField* switch_of(const std::string& path) {
    const PolicyField* found = find_field(path.substr(0, path.find('.')) + ".enabled");
    return found == nullptr || found->path == path ? nullptr : found;
}

/// Reports an invalid value as a problem, unless its part of the policy is turned off.
void judge(MergedPolicy& policy, IgnoredFields&& wrong) {
    for (IgnoredField& field : wrong) {
        const PolicyField* off = switch_of(field.path);
        if (off == nullptr || policy.at(off->path) == true)
            policy.problems.push_back(
                {field.source + ": " + field.path + " " + field.reason, field.source, field.path});
        else
            policy.ignored.push_back({std::move(field.path), std::move(field.source),
                                      field.reason + "; " + std::string(off->path) + " is false"});
    }
}

} // namespace

MergedPolicy merge_policy(std::span<const PolicyLayer> layers) {
    MergedPolicy merged;
    for (const PolicyField& field : policy_fields())
        merged.values[std::string(field.path)] = {Json::parse(field.fallback), "default"};
    IgnoredFields wrong;
    for (const PolicyLayer& layer : layers)
        Overlay(merged, layer, wrong);
    judge(merged, std::move(wrong));
    return merged;
}

MergedPolicy with_layer(const MergedPolicy& policy, const PolicyLayer& layer) {
    MergedPolicy merged;
    merged.values = policy.values;
    IgnoredFields wrong;
    Overlay(merged, layer, wrong);
    judge(merged, std::move(wrong));
    return merged;
}

std::vector<std::string> texts_of(std::span<const PolicyProblem> problems) {
    std::vector<std::string> texts;
    for (const PolicyProblem& problem : problems)
        texts.push_back(problem.text);
    return texts;
}

Json to_json(const MergedPolicy& policy) {
    Json fields = Json::array();
    for (const PolicyField& field : policy_fields()) {
        const PolicyValue& value = policy.values.find(field.path)->second;
        fields.push_back({{"path", field.path}, {"value", value.value}, {"source", value.source}});
    }
    Json ignored = Json::array();
    for (const IgnoredField& field : policy.ignored)
        ignored.push_back({{"path", field.path}, {"source", field.source}, {"reason", field.reason}});
    return {{"fields", std::move(fields)},
            {"ignored", std::move(ignored)},
            {"problems", texts_of(policy.problems)}};
}

} // namespace gpuhost::cluster
