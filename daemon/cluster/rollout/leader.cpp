// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/leader.hpp"

#include <utility>

namespace gpuhost::cluster {

using base::Json;

Leader::Leader(Api& api, GateKeeper& gates, std::string node, LogLine log_line)
    : api_(api), gates_(gates), log_(std::move(log_line)),
      election_(api, std::move(node),
                {[this](const LeaseFacts& lease) {
                     log_("this host leads: it grants upgrades (term " + std::to_string(lease.transitions) +
                          ")");
                     term_.emplace(api_, gates_, election_, lease, policy_, log_);
                 },
                 [this](const std::string& why) {
                     log_("this host no longer leads: " + why);
                     term_.reset();
                 }},
                log_) {}

void Leader::set_policy(const Policy* policy) {
    policy_ = policy;
    if (term_)
        term_->set_policy(policy);
}

std::optional<Time> Leader::due() const {
    std::optional<Time> due = election_.due();
    sooner(due, gates_.due());
    if (term_)
        sooner(due, term_->due());
    return due;
}

void Leader::turn() {
    election_.turn();
    // Call turn() of the gates even without a term, because their descriptor is always polled.
    const bool gates_changed = gates_.turn();
    if (!term_)
        return;
    if (gates_changed)
        term_->changed();
    term_->turn();
}

void Leader::retry() {
    election_.retry();
    if (term_)
        term_->retry();
}

Json Leader::document() const {
    Json document = term_ ? term_->document() : Json::object();
    document["leads"] = leads();
    document["leader"] = election_.holder();
    return document;
}

} // namespace gpuhost::cluster
