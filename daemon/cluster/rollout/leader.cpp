// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/leader.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/rollout/fleet_document.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr Seconds lease_duration{15};
constexpr Time renew_every{5'000};
/// In this time before the lease ends, the leader neither grants, revokes nor publishes.
constexpr Time margin{3'000};
constexpr Seconds grant_duration{300};
/// The shortest time between two decisions, so that one decision covers several changes.
constexpr Time gather{20};
/// How long a request without an answer may still take effect. kube-apiserver's --request-timeout is one
/// minute by default.
constexpr Time request_lives{70'000};
constexpr Time first_unused_wait{60'000};
constexpr unsigned most_unused_doublings = 4; ///< of first_unused_wait, up to 16 minutes
constexpr std::size_t most_trouble = 500;     ///< bytes of a published error
constexpr unsigned exists = 409;
constexpr const char* nodes_path = "/api/v1/nodes";
constexpr Time first_wait{1'000};
constexpr Time most_wait{30'000};

std::string lease_path(const std::string& name) {
    return std::string(leases_path) + "/" + base::percent_encoded(name);
}

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

Leader::Leader(Api& api, GateKeeper& gates, std::string node, LogLine log_line)
    : api_(api), gates_(gates), name_(std::move(node)), log_(std::move(log_line)),
      backoff_(first_wait, most_wait),
      own_(api, leases_path, name_selector(leader_lease),
           {[this](Json&& lease) { on_lease(lease_facts(lease)); },
            [this](const std::set<std::string>& names) {
                if (names.empty())
                    lose_lease();
            },
            [this](Json&&) { lose_lease(); },
            [this](const Error& trouble) {
                if (trouble.message != last_error_ && trouble.code == base::Errc::AccessDenied)
                    log_("can't watch the leader's Lease: " + trouble.message);
                last_error_ = trouble.message;
            }}) {}

void Leader::set_policy(const Policy* policy) {
    policy_ = policy;
    place_all();
}

void Leader::retry() {
    backoff_.reset();
    own_.retry();
    for (Watch* const watch : watches())
        if (watch != nullptr)
            watch->retry();
}

std::optional<Time> Leader::due() const {
    std::optional<Time> due = own_.due();
    if (!asks_)
        sooner(due, lease_due_);
    sooner(due, valid_until_);
    sooner(due, decide_due_);
    for (const auto& [node, until] : unconfirmed_grants_)
        sooner(due, until);
    sooner(due, gates_.due());
    for (const Watch* const watch : watches())
        if (watch != nullptr)
            sooner(due, watch->due());
    return due;
}

void Leader::turn() {
    own_.turn();
    if (valid_until_ && now() >= *valid_until_)
        end("its Lease could not be renewed in time");
    if (lease_due_ && now() >= *lease_due_ && !asks_) {
        lease_due_.reset();
        if (leads())
            renew();
        else if (now() < lease_ends())
            lease_due_ = lease_ends() + backoff_.next();
        else
            seize();
    }
    for (Watch* const watch : watches())
        if (watch != nullptr)
            watch->turn();
    if (std::erase_if(unconfirmed_grants_, [](const auto& doubt) { return now() >= doubt.second; }) != 0)
        grants_->list_anew();
    if (gates_.turn())
        changed();
    if (decide_due_ && now() >= *decide_due_)
        decide();
}

// Election

void Leader::on_lease(const LeaseFacts& lease) {
    if (!lease_there_ || lease.renewed != lease_.renewed || lease.holder != lease_.holder)
        lease_seen_ = now();
    lease_ = lease;
    lease_known_ = lease_there_ = true;
    if (leads() && lease.holder != name_)
        return end("node '" + lease.holder + "' leads");
    if (!leads() && !asks_)
        lease_due_ = lease_ends() > now() ? lease_ends() + backoff_.next() : now();
}

/// Returns when this host may acquire the lease: its holder has then not renewed it for the full duration.
Time Leader::lease_ends() const {
    const bool is_free = !lease_there_ || lease_.holder.empty() || lease_.holder == name_;
    return is_free ? Time(0) : lease_seen_ + std::chrono::duration_cast<Time>(lease_.duration);
}

void Leader::lose_lease() {
    lease_known_ = true;
    lease_there_ = false;
    if (leads())
        end("its Lease was removed");
    if (!asks_)
        lease_due_ = now();
}

void Leader::seize() {
    if (!lease_known_)
        return;
    asks_ = true;
    const Time asked = now();
    const auto done = [this, asked](ApiAnswer&& answer) { answered(std::move(answer), asked, true); };
    if (!lease_there_) {
        (void)api_.create(leases_path, new_leader(name_, lease_duration, base::realtime_us()), done);
        return;
    }
    Json patch = renewal(lease_, base::realtime_us());
    patch["spec"]["holderIdentity"] = name_;
    patch["spec"]["acquireTime"] = patch["spec"]["renewTime"];
    patch["spec"]["leaseDurationSeconds"] = lease_duration.count();
    patch["spec"]["leaseTransitions"] = lease_.transitions + 1;
    (void)api_.patch(lease_path(leader_lease), PatchType::Merge, patch, done);
}

void Leader::renew() {
    asks_ = true;
    const Time asked = now();
    (void)api_.patch(lease_path(leader_lease), PatchType::Merge, renewal(lease_, base::realtime_us()),
                     [this, asked](ApiAnswer&& answer) { answered(std::move(answer), asked, false); });
}

void Leader::answered(ApiAnswer&& answer, Time asked, bool seized) {
    asks_ = false;
    if (!answer.done()) {
        // 409: another candidate was faster; the watch will report it. Other errors are retried.
        const Time wait = std::max<Time>(backoff_.next(), answer.retry_after.value_or(Seconds(0)));
        lease_due_ = now() + (leads() ? std::min(wait, renew_every) : wait);
        if (answer.status != 409 && answer.error.message != last_error_)
            log_("can't write the leader's Lease: " + answer.error.message);
        last_error_ = answer.status == 409 ? "" : answer.error.message;
        return;
    }
    backoff_.reset();
    last_error_.clear();
    const bool led = leads();
    lease_ = lease_facts(answer.body);
    lease_there_ = true;
    lease_seen_ = now();
    lease_due_ = asked + renew_every;
    // Do not lead again after a renewal whose answer arrived too late. This leader has forgotten its requests
    // of that term, and only a new term makes their answers void.
    if (!led && !seized)
        return;
    valid_until_ = asked + std::chrono::duration_cast<Time>(lease_duration);
    if (!led)
        begin();
}

/// Begins a term. Reads the whole fleet again, because only now this host holds the lease.
void Leader::begin() {
    term_ = term_of(lease_);
    log_("this host leads: it grants upgrades (term " + std::to_string(lease_.transitions) + ")");
    watch_fleet();
}

/// Watches all Nodes. With a label selector, a host that loses the label during or after its upgrade would
/// not be found.
void Leader::watch_fleet() {
    nodes_ = std::make_unique<Watch>(
        api_, nodes_path, "",
        WatchHandlers{[this](Json&& node) { on_node(std::move(node)); },
                      [this](const std::set<std::string>& names) { retain_nodes(names); },
                      [this](Json&& node) { lose_node(object_name(node)); },
                      [this](const Error& trouble) { note_trouble("nodes", trouble); }});
    grants_ = std::make_unique<Watch>(
        api_, leases_path, "",
        WatchHandlers{[this](Json&& lease) { on_grant(std::move(lease)); },
                      [this](const std::set<std::string>& names) { retain_grants(names); },
                      [this](Json&& lease) { forget_grant(object_name(lease)); },
                      [this](const Error& trouble) { note_trouble("leases", trouble); }});
}

void Leader::end(const std::string& why) {
    log_("this host no longer leads: " + why);
    term_.clear();
    valid_until_.reset();
    decide_due_.reset();
    unconfirmed_grants_.clear();
    nodes_.reset();
    grants_.reset();
    gates_.forget();
    nodes_listed_ = grants_listed_ = has_rollout_ = false;
    blind_.clear();
    labels_.clear();
    grant_seen_.clear();
    leases_.clear();
    in_flight_.clear();
    fleet_ = {};
    admission_ = {};
    published_.clear();
    publishes_ = false;
    if (lease_there_ && !asks_)
        lease_due_ = lease_seen_ + std::chrono::duration_cast<Time>(lease_duration) + backoff_.next();
}

// The fleet

/// Ignores a Node without gpuhost-cluster, because there may be many. Keeps a Node with a grant, because it
/// may have lost its record during its upgrade.
void Leader::on_node(Json&& node) {
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

void Leader::lose_node(const std::string& name) {
    if (fleet_.hosts.erase(name) == 0)
        return;
    labels_.erase(name);
    fleet_.unused.erase(name);
    changed();
}

void Leader::retain_nodes(const std::set<std::string>& names) {
    std::set<std::string> gone;
    for (const auto& [name, host] : fleet_.hosts)
        if (names.count(name) == 0)
            gone.insert(name);
    for (const std::string& name : gone)
        lose_node(name);
    nodes_listed_ = true;
    changed();
}

void Leader::place_all() {
    if (policy_ == nullptr)
        return;
    for (auto& [name, host] : fleet_.hosts)
        host = place(std::move(host.node), unpacked(labels_[name]), *policy_);
    changed();
}

void Leader::on_grant(Json&& lease) {
    LeaseFacts facts = lease_facts(lease);
    const std::string node = granted_node(facts.name);
    const auto before = leases_.find(facts.name);
    const bool renewed = before == leases_.end() || before->second.renewed != facts.renewed;
    const std::string name = facts.name;
    if (!node.empty()) {
        if (renewed)
            grant_seen_[node] = now();
        fleet_.grants[node] = {node, facts.node_uid, Seconds(0), facts.duration, facts.taken};
        unconfirmed_grants_.erase(node);
    }
    leases_[name] = std::move(facts);
    changed();
}

void Leader::forget_grant(const std::string& name) {
    leases_.erase(name);
    const std::string node = granted_node(name);
    const auto asked = in_flight_.find(node);
    const bool may_come =
        (asked != in_flight_.end() && asked->second) || unconfirmed_grants_.count(node) != 0;
    if (!may_come) {
        fleet_.grants.erase(node);
        grant_seen_.erase(node);
    }
    changed();
}

void Leader::retain_grants(const std::set<std::string>& leases) {
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

void Leader::changed() {
    if (leads() && knows_fleet() && policy_ != nullptr)
        sooner(decide_due_, std::max(now(), decided_ + gather));
}

/// Updates Grant::silent and Unused::wait, which admit() uses, to the current time.
void Leader::mark_time() {
    for (auto& [node, grant] : fleet_.grants)
        if (const auto seen = grant_seen_.find(node); seen != grant_seen_.end())
            grant.silent = std::chrono::duration_cast<Seconds>(now() - seen->second);
    for (auto& [node, unused] : fleet_.unused)
        unused.wait = std::chrono::ceil<Seconds>(std::max(Time(0), unused.until - now()));
}

void Leader::decide() {
    decide_due_.reset();
    if (!leads() || !knows_fleet() || policy_ == nullptr)
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
    if (now() + margin >= *valid_until_) { // too late to act: wait until the lease is renewed or has ended
        sooner(decide_due_, now() + Time(1'000));
        return;
    }
    for (const std::string& node : admission_.revoke)
        revoke(node);
    for (const std::string& node : admission_.admit)
        grant(node);
    publish();
}

void Leader::grant(const std::string& node) {
    if (in_flight_.count(node) != 0)
        return;
    const FleetHost& host = fleet_.hosts[node];
    const std::string& version = policy_->pools[host.pool].policy.version;
    Seconds duration = grant_duration;
    if (policy_->silence.count() != 0)
        duration = std::min(duration, std::max(policy_->silence / 2, Seconds(2)));
    // The grant counts from now on, even before the server answers.
    fleet_.grants[node] = {node, host.node.uid, Seconds(0), duration, false};
    grant_seen_[node] = now();
    in_flight_[node] = true;
    (void)api_.create(leases_path, new_grant(host.node, version, term_, duration, base::realtime_us()),
                      [this, node, version, term = term_](ApiAnswer&& answer) {
                          if (answer.done())
                              log_("node '" + node + "' may upgrade to version " + version);
                          if (term == term_)
                              granted(node, answer);
                      });
}

/// Handles the answer to a new grant. Only the watch shows whether the grant exists: the host may have
/// returned it before the answer arrives.
void Leader::granted(const std::string& node, const ApiAnswer& answer) {
    // After 409 the grant may be this one: libcurl repeats a request if the connection broke, and the first
    // request may have succeeded.
    in_flight_.erase(node);
    const bool is_refused =
        answer.status >= 400 && answer.status < 500 && answer.status != exists && !answer.done();
    if (leases_.count(grant_name(node)) == 0) {
        if (is_refused)
            fleet_.grants.erase(node);
        else
            unconfirmed_grants_[node] = now() + request_lives;
    }
    if (answer.done())
        return;
    if (answer.status != exists)
        log_("can't grant node '" + node + "' its upgrade: " + answer.error.message);
    sooner(decide_due_, now() + backoff_.next());
}

void Leader::revoke(const std::string& node) {
    const auto lease = leases_.find(grant_name(node));
    if (lease == leases_.end() || in_flight_.count(node) != 0)
        return;
    in_flight_[node] = false;
    const Json object = {
        {"metadata", {{"uid", lease->second.uid}, {"resourceVersion", lease->second.version}}}};
    (void)api_.remove(lease_path(lease->first), object,
                      [this, node, uid = lease->second.node_uid, term = term_](ApiAnswer&& answer) {
                          if (term == term_)
                              in_flight_.erase(node);
                          if (answer.done()) {
                              log_("revoked the grant of node '" + node +
                                   "': the host is silent, or the node was replaced");
                              if (term == term_)
                                  note_unused(node, uid);
                          } else if (answer.status != 404 && answer.status != 409)
                              log_("can't revoke the grant of node '" + node + "': " + answer.error.message);
                      });
}

/// Delays the next grant to the host, longer each time, so that a host without gpuhost-cluster does not block
/// others. `uid` is the UID of the Node that had the grant; nothing happens if a new Node has the same name.
void Leader::note_unused(const std::string& node, const std::string& uid) {
    const auto host = fleet_.hosts.find(node);
    if (host == fleet_.hosts.end() || host->second.node.uid != uid || is_under_way(host->second.node.state))
        return;
    Unused& unused = fleet_.unused[node];
    unused.until = now() + first_unused_wait * (1U << std::min(unused.times, most_unused_doublings));
    ++unused.times;
    changed();
}

/// Logs and publishes that the leader cannot read the fleet. Once it has been read, a broken connection has
/// no effect.
void Leader::note_trouble(const std::string& what, const Error& trouble) {
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
void Leader::publish() {
    Json waits = Json::object();
    for (std::size_t i = 0; i < admission_.reasons.size(); ++i)
        if (!admission_.reasons[i].empty())
            waits[policy_->pools[i].name] = admission_.reasons[i];
    publish(base::dump(waits));
}

void Leader::publish(const std::string& text) {
    if (publishes_ || text == published_)
        return;
    publishes_ = true;
    const Json metadata = {{"name", rollout_lease}, {"annotations", {{key::wait_reasons, text}}}};
    const auto done = [this, text, term = term_](ApiAnswer&& answer) {
        if (term != term_)
            return;
        publishes_ = false;
        if (answer.done()) {
            published_ = text;
            has_rollout_ = true;
            return;
        }
        has_rollout_ = answer.status == exists;
        log_("can't publish why hosts wait: " + answer.error.message);
        sooner(decide_due_, now() + backoff_.next());
    };
    if (has_rollout_ || leases_.count(rollout_lease) != 0)
        (void)api_.patch(lease_path(rollout_lease), PatchType::Merge, {{"metadata", metadata}}, done);
    else
        (void)api_.create(leases_path,
                          {{"apiVersion", "coordination.k8s.io/v1"},
                           {"kind", "Lease"},
                           {"metadata", metadata},
                           {"spec", {{"holderIdentity", name_}}}},
                          done);
}

Json Leader::document() const {
    Json document = {{"leads", leads()}, {"leader", lease_there_ ? lease_.holder : ""}};
    if (!leads())
        return document;
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
