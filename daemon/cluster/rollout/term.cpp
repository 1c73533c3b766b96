// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/term.hpp"

#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/rollout/fleet_document.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

/// During this time before its lease ends, the leader neither grants, revokes nor publishes.
constexpr Time margin{3'000};
constexpr Seconds grant_duration{300};
/// The shortest time between two decisions, so that one decision covers several changes.
constexpr Time gather{20};
/// How long a request without an answer may still take effect. kube-apiserver's --request-timeout is one
/// minute by default.
constexpr Time request_lives{70'000};
constexpr Time first_unused_wait{60'000};
constexpr unsigned most_unused_doublings = 4; ///< doublings of first_unused_wait, up to 16 minutes
constexpr std::size_t most_trouble = 500;     ///< bytes of a published error
constexpr unsigned not_found = 404;
constexpr unsigned conflict = 409; ///< also the status if the object exists already
constexpr const char* nodes_path = "/api/v1/nodes";
constexpr Time first_wait{1'000};
constexpr Time most_wait{30'000};

std::string packed(const Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels)
        text += name + "\n" + value + "\n";
    return text;
}

Labels unpacked(const std::string& text) {
    Labels labels;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t middle = text.find('\n', at);
        const std::size_t end = text.find('\n', middle + 1);
        labels.emplace(text.substr(at, middle - at), text.substr(middle + 1, end - middle - 1));
        at = end + 1;
    }
    return labels;
}

} // namespace

/// Watches all Nodes. With a label selector, a host that loses the label during or after its upgrade would
/// not be found.
Term::Term(Api& api, GateKeeper& gates, const Election& election, const LeaseFacts& leader,
           const Policy* policy, Election::LogLine log_line)
    : api_(api), gates_(gates), election_(election), log_(std::move(log_line)), name_(term_of(leader)),
      policy_(policy), backoff_(first_wait, most_wait),
      nodes_(api, nodes_path, "",
             {[this](Json&& node) { on_node(std::move(node)); },
              [this](const std::set<std::string>& names) { retain_nodes(names); },
              [this](Json&& node) { lose_node(object_name(node)); },
              [this](const Error& trouble) { note_trouble("nodes", trouble); }}),
      grants_(api, leases_path, "",
              {[this](Json&& lease) { on_grant(std::move(lease)); },
               [this](const std::set<std::string>& names) { retain_grants(names); },
               [this](Json&& lease) { forget_grant(object_name(lease)); },
               [this](const Error& trouble) { note_trouble("leases", trouble); }}) {}

Term::~Term() {
    for (const auto& [node, request] : in_flight_)
        api_.cancel(request.id);
    if (publishing_ != 0)
        api_.cancel(publishing_);
    gates_.forget();
}

void Term::set_policy(const Policy* policy) {
    policy_ = policy;
    if (policy_ == nullptr)
        return;
    for (auto& [name, host] : fleet_.hosts)
        host = place(std::move(host.node), unpacked(labels_[name]), *policy_);
    changed();
}

std::optional<Time> Term::due() const {
    std::optional<Time> due = decide_due_;
    for (const auto& [node, until] : unconfirmed_grants_)
        sooner(due, until);
    sooner(due, nodes_.due());
    sooner(due, grants_.due());
    return due;
}

void Term::turn() {
    nodes_.turn();
    grants_.turn();
    if (std::erase_if(unconfirmed_grants_, [](const auto& doubt) { return now() >= doubt.second; }) != 0)
        grants_.list_anew();
    if (decide_due_ && now() >= *decide_due_)
        decide();
}

void Term::retry() {
    backoff_.reset();
    nodes_.retry();
    grants_.retry();
}

// The fleet

/// Ignores a Node without gpuhost-cluster, because there may be many such Nodes. Keeps a Node with a grant,
/// because the Node may have lost its record during its upgrade.
void Term::on_node(Json&& node) {
    UpgradeNode made = upgrade_node(node);
    const std::string name = made.name;
    if (!made.managed && fleet_.grants.count(name) == 0)
        return lose_node(name);
    const auto before = fleet_.hosts.find(name);
    const bool is_another = before != fleet_.hosts.end() && before->second.node.uid != made.uid;
    if (is_another || (is_under_way(made.state) && made.record.state == made.state))
        fleet_.unused.erase(name);
    const Labels labels = labels_of(node);
    labels_[name] = packed(labels);
    if (policy_ != nullptr)
        fleet_.hosts[name] = place(std::move(made), labels, *policy_);
    else
        fleet_.hosts[name].node = std::move(made);
    changed();
}

void Term::lose_node(const std::string& name) {
    if (fleet_.hosts.erase(name) == 0)
        return;
    labels_.erase(name);
    fleet_.unused.erase(name);
    changed();
}

void Term::retain_nodes(const std::set<std::string>& names) {
    for (auto host = fleet_.hosts.begin(); host != fleet_.hosts.end();)
        if (const std::string name = (host++)->first; names.count(name) == 0)
            lose_node(name);
    nodes_listed_ = true;
    changed();
}

void Term::on_grant(Json&& lease) {
    LeaseFacts facts = lease_facts(lease);
    const std::string node = granted_node(facts.name);
    const auto before = leases_.find(facts.name);
    const bool renewed = before == leases_.end() || before->second.renewed != facts.renewed;
    const std::string name = facts.name;
    if (!node.empty()) {
        const Time seen = renewed ? now() : fleet_.grants[node].seen;
        fleet_.grants[node] = {node, facts.node_uid, Seconds(0), facts.duration, facts.taken, seen};
        unconfirmed_grants_.erase(node);
    }
    leases_[name] = std::move(facts);
    changed();
}

void Term::forget_grant(const std::string& name) {
    leases_.erase(name);
    const std::string node = granted_node(name);
    const auto asked = in_flight_.find(node);
    const bool may_come =
        (asked != in_flight_.end() && asked->second.creates) || unconfirmed_grants_.count(node) != 0;
    if (!may_come)
        fleet_.grants.erase(node);
    changed();
}

void Term::retain_grants(const std::set<std::string>& leases) {
    std::set<std::string> gone;
    for (const auto& [name, lease] : leases_)
        gone.insert(name);
    for (const auto& [node, grant] : fleet_.grants)
        gone.insert(grant_name(node));
    for (const std::string& name : gone)
        if (leases.count(name) == 0)
            forget_grant(name);
    grants_listed_ = true;
    changed();
}

// Decisions

void Term::changed() {
    if (knows_fleet() && policy_ != nullptr)
        sooner(decide_due_, std::max(now(), decided_ + gather));
}

/// Updates Grant::silent and Unused::wait, which admit() uses, to the current time.
void Term::mark_time() {
    for (auto& [node, grant] : fleet_.grants)
        grant.silent = std::chrono::duration_cast<Seconds>(now() - grant.seen);
    for (auto& [node, unused] : fleet_.unused)
        unused.wait = std::chrono::ceil<Seconds>(std::max(Time(0), unused.until - now()));
}

void Term::decide() {
    decide_due_.reset();
    if (!knows_fleet() || policy_ == nullptr)
        return;
    decided_ = now();
    mark_time();
    admission_ = admit(fleet_, *policy_, gates_.states(), unix_now());
    gates_.want(admission_.asks);
    if (!fleet_.grants.empty()) {
        const Seconds silence = policy_->silence.count() == 0 ? claim_deadline : policy_->silence;
        decide_due_ = now() + std::chrono::duration_cast<Time>(std::min(silence, claim_deadline)) / 4;
    }
    if (admission_.again) {
        const std::int64_t left = *admission_.again - unix_now();
        constexpr std::int64_t most = 3'600; // an hour: the clock may be set meanwhile
        sooner(decide_due_, now() + Time(std::clamp<std::int64_t>(left, 0, most) * 1000 + 10));
    }
    for (const auto& [node, unused] : fleet_.unused)
        if (unused.until > now())
            sooner(decide_due_, unused.until);
    // It is too late to act. Wait until the lease is renewed or has ended.
    if (now() + margin >= *election_.leads_until()) {
        sooner(decide_due_, now() + Time(1'000));
        return;
    }
    for (const std::string& node : admission_.revoke)
        revoke(node);
    for (const std::string& node : admission_.admit)
        grant(node);
    publish();
}

void Term::grant(const std::string& node) {
    if (in_flight_.count(node) != 0)
        return;
    const FleetHost& host = fleet_.hosts[node];
    const std::string& version = policy_->pools[host.pool].policy.version;
    Seconds duration = grant_duration;
    if (policy_->silence.count() != 0)
        duration = std::min(duration, std::max(policy_->silence / 2, Seconds(2)));
    // The grant counts from now on, even before the server answers.
    fleet_.grants[node] = {node, host.node.uid, Seconds(0), duration, false, now()};
    const std::uint64_t id =
        api_.create(leases_path, new_grant(host.node, version, name_, duration, base::realtime_us()),
                    [this, node, version](ApiAnswer&& answer) {
                        if (answer.done())
                            log_("node '" + node + "' may upgrade to version " + version);
                        granted(node, answer);
                    });
    in_flight_[node] = {id, true};
}

/// Handles the answer to the request that creates a grant. Only the watch shows whether the grant exists: the
/// host may have deleted it before the answer arrives.
void Term::granted(const std::string& node, const ApiAnswer& answer) {
    // After 409 the existing grant may be the one that this request created: libcurl repeats a request if the
    // connection broke, and the first attempt may have succeeded.
    in_flight_.erase(node);
    const bool is_refused =
        answer.status >= 400 && answer.status < 500 && answer.status != conflict && !answer.done();
    if (leases_.count(grant_name(node)) == 0) {
        if (is_refused)
            fleet_.grants.erase(node);
        else
            unconfirmed_grants_[node] = now() + request_lives;
    }
    if (answer.done())
        return backoff_.reset();
    if (answer.status != conflict)
        log_("can't grant node '" + node + "' its upgrade: " + answer.error.message);
    sooner(decide_due_, now() + backoff_.next());
}

void Term::revoke(const std::string& node) {
    const auto lease = leases_.find(grant_name(node));
    if (lease == leases_.end() || in_flight_.count(node) != 0)
        return;
    const Json object = {
        {"metadata", {{"uid", lease->second.uid}, {"resourceVersion", lease->second.version}}}};
    const std::uint64_t id = api_.remove(
        lease_path(lease->first), object, [this, node, uid = lease->second.node_uid](ApiAnswer&& answer) {
            in_flight_.erase(node);
            if (answer.done()) {
                log_("revoked the grant of node '" + node +
                     "': the host is silent, or the node was replaced");
                note_unused(node, uid);
            } else if (answer.status != not_found && answer.status != conflict)
                log_("can't revoke the grant of node '" + node + "': " + answer.error.message);
        });
    in_flight_[node] = {id, false};
}

/// Delays the next grant to the host, longer each time, so that a host without gpuhost-cluster does not block
/// others. `uid` is the UID of the Node that had the grant; nothing happens if a new Node has the same name.
void Term::note_unused(const std::string& node, const std::string& uid) {
    const auto host = fleet_.hosts.find(node);
    if (host == fleet_.hosts.end() || host->second.node.uid != uid || is_under_way(host->second.node.state))
        return;
    Unused& unused = fleet_.unused[node];
    unused.until = now() + first_unused_wait * (1U << std::min(unused.times, most_unused_doublings));
    ++unused.times;
    changed();
}

/// Logs and publishes that the leader cannot read the fleet. Once the fleet has been read, a broken
/// connection is neither logged nor published.
void Term::note_trouble(const std::string& what, const Error& trouble) {
    if (trouble.message.empty()) {
        blind_.erase(what);
        return;
    }
    if (knows_fleet() && trouble.code != base::Errc::AccessDenied)
        return;
    const std::string text =
        ("the leader can't read " + what + ": " + trouble.message).substr(0, most_trouble);
    if (std::exchange(blind_[what], text) != text)
        log_(text);
    if (knows_fleet() || policy_ == nullptr)
        return;
    Json waits = Json::object();
    for (const Pool& pool : policy_->pools)
        waits[pool.name] = text;
    publish(base::dump(waits));
}

/// Publishes why hosts wait, as an annotation of the Lease gpuhost-rollout, if the text has changed.
void Term::publish() {
    Json waits = Json::object();
    for (std::size_t i = 0; i < admission_.reasons.size(); ++i)
        if (!admission_.reasons[i].empty())
            waits[policy_->pools[i].name] = admission_.reasons[i];
    publish(base::dump(waits));
}

void Term::publish(const std::string& text) {
    if (publishing_ != 0 || text == published_)
        return;
    const Json metadata = {{"name", rollout_lease}, {"annotations", {{key::wait_reasons, text}}}};
    const auto done = [this, text](ApiAnswer&& answer) {
        publishing_ = 0;
        if (answer.done()) {
            published_ = text;
            has_rollout_ = true;
            return backoff_.reset();
        }
        has_rollout_ = answer.status == conflict;
        log_("can't publish why hosts wait: " + answer.error.message);
        sooner(decide_due_, now() + backoff_.next());
    };
    if (has_rollout_ || leases_.count(rollout_lease) != 0)
        publishing_ = api_.patch(lease_path(rollout_lease), PatchType::Merge, {{"metadata", metadata}}, done);
    else
        publishing_ = api_.create(leases_path,
                                  {{"apiVersion", "coordination.k8s.io/v1"},
                                   {"kind", "Lease"},
                                   {"metadata", metadata},
                                   {"spec", {{"holderIdentity", election_.holder()}}}},
                                  done);
}

Json Term::document() const {
    Json document = Json::object();
    Json pools = Json::array();
    if (policy_ != nullptr) { // the policy may be newer than the last decision, with other pools
        document["auto_upgrade"] = policy_->pools.back().policy.mode == UpgradeMode::Controlled;
        for (std::size_t i = 0; i < std::min(policy_->pools.size(), admission_.pools.size()); ++i)
            pools.push_back(pool_document(policy_->pools[i], admission_.pools[i], admission_.reasons[i]));
    }
    document["pools"] = std::move(pools);
    Json gates = Json::array();
    for (const auto& [gate, shut] : gates_.states())
        gates.push_back({{"name", gate.name}, {"open", shut.empty()}});
    document["gates"] = std::move(gates);
    return document;
}

} // namespace gpuhost::cluster
