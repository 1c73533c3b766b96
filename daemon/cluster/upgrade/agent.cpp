// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/agent.hpp"

#include "daemon/cluster/kube/kube_time.hpp"
#include "daemon/cluster/upgrade/patch.hpp"

#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr Time first_wait{1'000};
constexpr Time most_wait{30'000};
/// The shortest time between two patches of the Node that change only the reason.
constexpr Time between_reasons{10'000};
/// If no leader has published within this time why hosts wait, there is probably no leader.
constexpr Time leader_answers{60'000};
constexpr unsigned not_found = 404;

Time as_time(Seconds seconds) {
    return std::chrono::duration_cast<Time>(seconds);
}

} // namespace

UpgradeAgent::UpgradeAgent(Api& api, std::string node, UpgradeHost& host, LogLine log_line)
    : api_(api), name_(std::move(node)), host_(host), log_(std::move(log_line)), sender_(api, log_),
      backoff_(first_wait, most_wait) {}

std::optional<Time> UpgradeAgent::due() const {
    std::optional<Time> due = due_;
    if (!asks_)
        sooner(due, lease_due_);
    sooner(due, sender_.due());
    for (const auto& watch : {grant_watch_.get(), waits_watch_.get()})
        if (watch != nullptr)
            sooner(due, watch->due());
    return due;
}

void UpgradeAgent::turn() {
    if (due_ && now() >= *due_)
        due_.reset();
    sender_.turn();
    for (const auto& watch : {grant_watch_.get(), waits_watch_.get()})
        if (watch != nullptr)
            watch->turn();
    if (!lease_due_ || now() < *lease_due_ || asks_)
        return;
    lease_due_.reset();
    if (!lease_)
        return;
    if (returns_)
        give_back();
    else if (is_ours() && renewed_ && !confirmed_)
        confirm();
    else if (is_ours())
        renew();
}

void UpgradeAgent::retry() {
    backoff_.reset();
    sender_.retry();
    for (const auto& watch : {grant_watch_.get(), waits_watch_.get()})
        if (watch != nullptr)
            watch->retry();
}

void UpgradeAgent::no_node() {
    host_.be_at({});
    move_ = {};
    uid_.clear();
    watch_waits(false);
}

// State on the Node

UpgradeInput UpgradeAgent::situation(const Json& node) const {
    UpgradeInput at;
    at.node = upgrade_node(node);
    at.labels = labels_of(node);
    at.now = unix_now();
    at.driver = host_.driver();
    if (policy_ == nullptr)
        return at;
    const Pool& pool = policy_->pools[policy_->pool_of(at.labels)];
    at.pool = pool.name;
    at.policy = &pool.policy;
    if (!policy_->problems.empty())
        at.policy_problem = policy_->problems.front().text;
    at.waits = waits_;
    if (waits_watch_ && waits_.empty() && now() >= waits_since_ + leader_answers)
        at.waits = "waits for its turn, but no leader answers: set Candidate=yes in gpuhostd.conf of a host";
    at.granted = is_granted();
    at.revoked = lease_known_ && !lease_;
    at.check = host_.check(pool.policy.version);
    const UpgradeRecord& record = at.node.record;
    const bool goes_back =
        at.node.state == UpgradeState::ValidationRequired && record.failure == "validation";
    at.swap = host_.swap(goes_back ? record.from : record.version, record.since);
    at.jobs = host_.pods(UpgradeAct::WaitForJobs);
    at.pods = host_.pods(at.node.state == UpgradeState::PodDeletionRequired ? UpgradeAct::DeletePods
                                                                            : UpgradeAct::Drain);
    at.validators = validators(at.labels);
    return at;
}

/// Returns the validation by the GPU Operator's pods, which is required in addition to gpuhost's own. The
/// result is Done if the GPU Operator does not validate this node.
Task UpgradeAgent::validators(const Labels& labels) const {
    const auto deployed = labels.find(std::string(key::deploy_prefix) + "operator-validator");
    if (deployed == labels.end() || deployed->second != "true")
        return {Task::State::Done, "", false};
    return host_.pods(UpgradeAct::Validate);
}

NodePatch UpgradeAgent::change(const Json& node) {
    if (std::string uid = upgrade_node(node).uid; uid != uid_) {
        uid_ = std::move(uid);
        lease_due_ = now();
    }
    const UpgradeInput at = situation(node);
    pool_ = at.pool;
    move_ = next_decision(at);
    mind_grant(move_, is_under_way(at.node.state));
    due_.reset();
    if (move_.due)
        due_ = now() + Time(std::clamp<std::int64_t>(*move_.due - at.now, 0, 3'600) * 1000 + 10);
    if (waits_watch_ && waits_.empty() && now() < waits_since_ + leader_answers)
        sooner(due_, waits_since_ + leader_answers);
    UpgradePatch patch = upgrade_patch(node, move_);
    if (patch.only_reason && reason_at_ && now() < *reason_at_ + between_reasons) {
        sooner(due_, *reason_at_ + between_reasons);
        patch.node = {};
    }
    if (!patch.node.body.is_null()) {
        events_ = move_.events;
        events_.insert(events_.end(), patch.events.begin(), patch.events.end());
        failures_ = std::move(patch.failures);
        reason_at_ = now();
        return std::move(patch.node);
    }
    if (move_.drops_request)
        host_.drop_request();
    const bool goes_back = move_.act == UpgradeAct::RollBack;
    const bool checks = move_.act == UpgradeAct::Check && at.policy != nullptr;
    host_.be_at({move_.act,
                 goes_back ? move_.record.from
                 : checks  ? at.policy->version
                           : move_.record.version,
                 at.policy, move_.record.since});
    return {};
}

void UpgradeAgent::refused(const Json& node, const Error& why) {
    for (const std::string& failure : failures_)
        sender_.send(upgrade_node(node), {true, failure + why.message});
}

void UpgradeAgent::written(const Json& node) {
    const UpgradeNode now_there = upgrade_node(node);
    for (const UpgradeEvent& event : std::exchange(events_, {}))
        sender_.send(now_there, event);
}

// The grant

bool UpgradeAgent::is_granted() const {
    return is_ours() && confirmed_ && !returns_ && renewed_ &&
           now() < *renewed_ + as_time(lease_->duration) * 9 / 10;
}

/// Returns true if the grant is for this Node, not for an earlier Node of the same name.
bool UpgradeAgent::is_ours() const {
    return lease_ && lease_->holder == name_ && !uid_.empty() && lease_->node_uid == uid_;
}

void UpgradeAgent::mind_grant(const UpgradeDecision& move, bool under_way) {
    if ((move.wants_grant || under_way) && !grant_watch_)
        watch_grant(under_way);
    if (!move.wants_grant && !under_way && grant_watch_ &&
        (lease_known_ || move.state != UpgradeState::UpgradeRequired) && !lease_)
        grant_watch_.reset();
    const bool returns = lease_ && !move.wants_grant && !under_way && !host_.driver().swaps;
    if (std::exchange(returns_, returns) != returns)
        lease_due_ = now();
    // A grant under which the upgrade began needs no second check of its term.
    if (is_ours() && under_way)
        confirmed_ = true;
    watch_waits(move.state == UpgradeState::UpgradeRequired && move.wants_grant && !lease_);
}

/// Watches this host's grant. `from_list`: an upgrade is in progress, so the watch begins with a list, which
/// shows whether the grant still exists. Without an upgrade the host has no grant until the watch reports
/// one.
void UpgradeAgent::watch_grant(bool from_list) {
    lease_known_ = false;
    grant_watch_ =
        std::make_unique<Watch>(api_, leases_path, name_selector(grant_name(name_)),
                                WatchHandlers{[this](Json&& lease) { on_lease(lease_facts(lease)); },
                                              [this](const std::set<std::string>& names) {
                                                  lease_known_ = true;
                                                  if (names.empty())
                                                      lose_lease();
                                              },
                                              [this](Json&&) { lose_lease(); }, [](const Error&) {}},
                                from_list ? Watch::Begin::Listed : Watch::Begin::FromVersion);
}

void UpgradeAgent::watch_waits(bool wanted) {
    if (wanted == (waits_watch_ != nullptr))
        return;
    waits_.clear();
    waits_since_ = now();
    waits_watch_.reset();
    if (wanted)
        waits_watch_ = std::make_unique<Watch>(
            api_, leases_path, name_selector(rollout_lease),
            WatchHandlers{
                [this](Json&& lease) { waits_ = base::string_or(lease_facts(lease).waits, pool_, ""); },
                [](const std::set<std::string>&) {}, [this](Json&&) { waits_.clear(); }, [](const Error&) {}},
            Watch::Begin::FromVersion);
}

void UpgradeAgent::on_lease(const LeaseFacts& lease) {
    if (lease.name != grant_name(name_))
        return;
    lease_known_ = true;
    const bool is_new = !lease_ || lease_->uid != lease.uid;
    lease_ = lease;
    if (!is_new)
        return;
    confirmed_ = false;
    renewed_.reset();
    lease_due_ = now();
}

void UpgradeAgent::lose_lease() {
    lease_known_ = true;
    lease_.reset();
    confirmed_ = false;
    renewed_.reset();
    lease_due_.reset();
}

/// Checks that the grant belongs to the current leader's term. A former leader may have created the grant
/// after it lost the lease. The current leader does not count such a grant.
void UpgradeAgent::confirm() {
    asks_ = true;
    (void)api_.get(lease_path(leader_lease), [this, uid = lease_->uid](ApiAnswer&& answer) {
        asks_ = false;
        if (!lease_ || lease_->uid != uid || !renewed_)
            return;
        if (!answer.done() && answer.status != not_found) {
            lease_due_ = now() + backoff_.next();
            return;
        }
        backoff_.reset();
        confirmed_ = answer.done() && term_of(lease_facts(answer.body)) == lease_->term;
        if (confirmed_) {
            lease_due_ = returns_ ? now() : *renewed_ + as_time(lease_->duration) / 3;
            return;
        }
        log_("ignoring the grant to upgrade: its leader no longer leads");
        give_back();
    });
}

void UpgradeAgent::renew() {
    asks_ = true;
    const Time asked = now();
    (void)api_.patch(lease_path(lease_->name), PatchType::Merge, renewal(*lease_, base::realtime_us()),
                     [this, asked, uid = lease_->uid](ApiAnswer&& answer) {
                         asks_ = false;
                         if (lease_ && lease_->uid == uid)
                             renewed(std::move(answer), asked);
                     });
}

void UpgradeAgent::renewed(ApiAnswer&& answer, Time asked) {
    if (answer.status == not_found)
        return lose_lease();
    if (!answer.done()) {
        lease_due_ = now() + backoff_.next();
        return;
    }
    backoff_.reset();
    lease_ = lease_facts(answer.body);
    renewed_ = asked;
    lease_due_ = returns_ || !confirmed_ ? now() : asked + as_time(lease_->duration) / 3;
}

/// Deletes the grant. From now on the grant is not used, since the deletion may take effect at any time. If a
/// renewal was faster, the server refuses the deletion.
void UpgradeAgent::give_back() {
    asks_ = true;
    renewed_.reset();
    const Json object = {{"metadata", {{"uid", lease_->uid}, {"resourceVersion", lease_->version}}}};
    (void)api_.remove(lease_path(lease_->name), object, [this, uid = lease_->uid](ApiAnswer&& answer) {
        asks_ = false;
        if (!lease_ || lease_->uid != uid)
            return;
        if (answer.done() || answer.status == not_found) {
            backoff_.reset();
            return lose_lease();
        }
        lease_due_ = now() + backoff_.next();
    });
}

Json UpgradeAgent::document() const {
    if (policy_ == nullptr)
        return nullptr;
    return {{"state", state_name(move_.state)},
            {"reason", move_.reason},
            {"pool", pool_},
            {"version", move_.record.version},
            {"since", move_.record.since},
            {"attempts", move_.record.attempts},
            {"granted", is_granted()}};
}

} // namespace gpuhost::cluster
