// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/policy/source.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Error;
using base::Json;
using base::member;
using base::string_or;

namespace {

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

} // namespace

PolicySource::PolicySource(Api& api, const base::Root* root, LogLine log_line)
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
    if (root_ == nullptr)
        return;
    auto text = root_->read(policy_file);
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
    for (const PolicyProblem& problem : policy_->problems)
        log_("the policy has a problem: " + problem.text);
}

Json PolicySource::document() const {
    if (!policy_)
        return nullptr;
    Json document = to_json(merged_);
    document["problems"] = texts_of(policy_->problems);
    return document;
}

} // namespace gpuhost::cluster
