// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/source.hpp"

#include "daemon/base/yaml.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Error;
using base::Json;
using base::member;
using base::string_or;

namespace {

constexpr std::size_t longest = 256U << 10U; ///< bytes of a policy's text
/// The time between two checks for the kind ClusterPolicy while the server does not serve it.
constexpr Time kind_interval{30 * 60'000};

/// Returns the members that the policy depends on. The status is not one of them, and may change every
/// minute.
Json without_status(Json&& object) {
    return {{"metadata",
             {{"name", object_name(object)},
              {"creationTimestamp", string_or(member(object, "metadata"), "creationTimestamp", "")}}},
            {"spec", member(object, "spec")}};
}

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
        problems.push_back(what.find(name) == std::string::npos ? name + ": " + what : what);
    }

    std::vector<PolicyLayer> layers;
    std::vector<std::string> problems;
};

} // namespace

MergedPolicy merge_texts(const PolicyTexts& texts) {
    Layers all;
    if (texts.file)
        all.text(policy_file, *texts.file);
    if (!texts.cluster_policy.is_null())
        all.layers.push_back(
            {"ClusterPolicy " + object_name(texts.cluster_policy), member(texts.cluster_policy, "spec")});
    if (!texts.config_map.is_null()) {
        const std::string name = "ConfigMap gpuhost/" + std::string(config_map);
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

PolicySource::PolicySource(Api& api, const base::Root& root, LogLine log_line)
    : api_(api), root_(root), log_(std::move(log_line)),
      config_map_watch_(api, config_maps_path, name_selector(config_map),
                        {[this](Json&& object) {
                             if (object_name(object) != config_map)
                                 return; // another ConfigMap: the server ignored the field selector
                             texts_.config_map = std::move(object);
                             merge();
                         },
                         [this](const std::set<std::string>& names) {
                             config_map_known_ = true;
                             if (names.count(config_map) == 0)
                                 texts_.config_map = nullptr;
                             merge();
                         },
                         [this](Json&&) {
                             texts_.config_map = nullptr;
                             merge();
                         },
                         [this](const Error& trouble) { note(config_map, trouble, config_map_trouble_); }}) {
    read_file();
    watch_cluster_policies();
}

/// Reads the policy's file. If the file exists but cannot be read, its previous content remains in effect.
void PolicySource::read_file() {
    auto text = root_.read(policy_file);
    const bool is_there = text || text.error().code != Errc::NotFound;
    if (text)
        texts_.file = std::move(*text);
    else if (!is_there)
        texts_.file.reset();
    std::string trouble = text || !is_there ? "" : text.error().message;
    if (std::exchange(file_trouble_, trouble) != trouble && !trouble.empty())
        log_(trouble);
}

void PolicySource::refresh() {
    read_file();
    merge();
}

void PolicySource::watch_cluster_policies() {
    cluster_policies_watch_ = std::make_unique<Watch>(
        api_, cluster_policies_path, "",
        WatchHandlers{[this](Json&& object) {
                          const std::string name = object_name(object);
                          cluster_policies_[name] = without_status(std::move(object));
                          choose();
                      },
                      [this](const std::set<std::string>& names) {
                          for (auto at = cluster_policies_.begin(); at != cluster_policies_.end();)
                              at = names.count(at->first) == 0 ? cluster_policies_.erase(at) : std::next(at);
                          cluster_policies_known_ = true;
                          choose();
                      },
                      [this](Json&& object) {
                          cluster_policies_.erase(object_name(object));
                          choose();
                      },
                      [this](const Error& trouble) {
                          if (trouble.code == Errc::NotFound && !trouble.message.empty())
                              is_not_served_ = true;
                          else
                              note("ClusterPolicies", trouble, cluster_policies_trouble_);
                      }});
}

/// Logs only a denied access. HostAgent already logs that the server is not reachable.
void PolicySource::note(const std::string& what, const Error& trouble, Error& known) {
    if (std::exchange(known, trouble).message != trouble.message && trouble.code == Errc::AccessDenied)
        log_("can't watch " + what + ": " + trouble.message);
}

const Error& PolicySource::trouble() const {
    return config_map_trouble_.message.empty() ? cluster_policies_trouble_ : config_map_trouble_;
}

std::optional<Time> PolicySource::due() const {
    std::optional<Time> due = config_map_watch_.due();
    for (const auto& other :
         {cluster_policies_watch_ ? cluster_policies_watch_->due() : std::nullopt, poll_at_})
        if (other)
            due = due ? std::min(*due, *other) : *other;
    return due;
}

void PolicySource::turn() {
    config_map_watch_.turn();
    if (poll_at_ && now() >= *poll_at_) {
        poll_at_.reset();
        watch_cluster_policies();
    }
    if (cluster_policies_watch_)
        cluster_policies_watch_->turn();
    if (!std::exchange(is_not_served_, false))
        return;
    cluster_policies_watch_.reset();
    poll_at_ = now() + kind_interval;
    cluster_policies_.clear();
    cluster_policies_known_ = true;
    choose();
}

void PolicySource::retry() {
    config_map_watch_.retry();
    if (cluster_policies_watch_)
        cluster_policies_watch_->retry();
}

/// Uses the oldest ClusterPolicy, like the GPU Operator, which ignores the others.
void PolicySource::choose() {
    const auto created = [](const Json& object) {
        return string_or(member(object, "metadata"), "creationTimestamp", "");
    };
    const auto first = std::min_element(
        cluster_policies_.begin(), cluster_policies_.end(), [&](const auto& a, const auto& b) {
            return std::pair(created(a.second), a.first) < std::pair(created(b.second), b.first);
        });
    texts_.cluster_policy = first == cluster_policies_.end() ? Json() : first->second;
    merge();
}

void PolicySource::merge() {
    if (!cluster_policies_known_ || !config_map_known_)
        return;
    MergedPolicy merged = merge_texts(texts_);
    if (policy_ && to_json(merged) == to_json(merged_))
        return;
    merged_ = std::move(merged);
    policy_ = read_policy(merged_);
    ++changes_;
    for (const std::string& problem : policy_->problems)
        log_("the policy has a problem: " + problem);
}

Json PolicySource::document() const {
    if (!policy_)
        return nullptr;
    Json document = to_json(merged_);
    document["problems"] = policy_->problems;
    return document;
}

} // namespace gpuhost::cluster
