// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/admission.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpuhost::cluster {
namespace {

constexpr unsigned no_limit = std::numeric_limits<unsigned>::max();

void sooner(std::optional<std::int64_t>& due, std::int64_t other) {
    due = due ? std::min(*due, other) : other;
}

/// Decides for the hosts of one pool: take() adds the hosts, run() decides in the order of waves and names.
class PoolRound {
  public:
    /// `strangers` is the number of grants whose nodes are unknown. These nodes may belong to this pool.
    PoolRound(const Pool& pool, const GateStates& gates, std::int64_t now, unsigned strangers,
              Admission& admission)
        : policy_(pool.policy), gates_(gates), now_(now), admission_(admission), held_(strangers),
          unavailable_(strangers) {}

    /// `unused` is null if the host has no unused grant.
    void take(const FleetHost& host, bool has_place, const Unused* unused) {
        const Member member{&host, has_place, unused};
        ++numbers_.hosts;
        count(member);
        if (has_place && !host.topology.empty())
            topology_ = host.topology;
        members_.push_back(member);
    }

    /// `left` is the number of hosts that may still begin under the limit for all pools. run() subtracts each
    /// place that it gives or reserves. `closed` is the reason why no pool may begin; empty if none.
    void run(unsigned& left, const std::string& closed) {
        const std::string shut = shut_reason(closed);
        make_waves();
        if (policy_.mode != UpgradeMode::OnRequest)
            find_wave();
        std::stable_sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
            return std::pair(a.wave, a.times_unused()) < std::pair(b.wave, b.times_unused());
        });
        for (const Member& member : members_)
            if (!member.has_place && member.host->node.state == UpgradeState::UpgradeRequired)
                consider(member, left, shut);
        if (shut.empty() && gate_reason_.empty())
            numbers_.available = std::min(
                {policy_.max_parallel == 0 ? numbers_.pending : free_places(), unavailable_left(), left});
        admission_.pools.push_back(numbers_);
        admission_.reasons.push_back(!shut.empty() ? shut : reason_);
    }

  private:
    struct Member {
        const FleetHost* host;
        bool has_place;
        const Unused* unused;
        std::size_t wave = 0;

        [[nodiscard]] unsigned times_unused() const { return unused == nullptr ? 0 : unused->times; }

        /// Returns true if the wave can finish without this host. Unused grants count only if there are at
        /// least away_after, because a host may miss fewer while gpuhost-cluster restarts.
        [[nodiscard]] bool is_away() const {
            const UpgradeNode& node = host->node;
            return !node.ready || node.skip || node.leaving || !node.gpu_label ||
                   times_unused() >= away_after;
        }
    };

    /// Why a host waits. `text` is the same for the whole pool; `about` adds details of this host.
    struct Reason {
        std::string text;
        std::string about;
    };

    /// Returns true if the host is out of service for a reason other than the rollout.
    [[nodiscard]] static bool is_outside(const UpgradeNode& node) {
        return !node.ready || node.skip || node.leaving || !node.gpu_label || node.others_cordoned();
    }

    /// Returns what has broken since the host installed this version; empty if nothing. The version may be
    /// the cause.
    [[nodiscard]] std::string broken(const UpgradeNode& node) const {
        if ((!is_done(node) && !has_failed(node)) || node.leaving || node.record.away ||
            node.was_unschedulable)
            return {};
        if (!node.ready)
            return "is not ready";
        if (node.others_cordoned())
            return "is cordoned";
        return is_done(node) && !node.driver_ready ? "has no working driver" : "";
    }

    /// Returns true if broken() returns a reason and the skip label is not set. An administrator who sets the
    /// skip label accepts the failure.
    [[nodiscard]] bool counts_as_broken(const UpgradeNode& node) const {
        return !node.skip && !broken(node).empty();
    }

    [[nodiscard]] bool is_done(const UpgradeNode& node) const {
        return node.state == UpgradeState::UpgradeDone && node.record.version == policy_.version;
    }

    [[nodiscard]] bool has_failed(const UpgradeNode& node) const {
        return node.state == UpgradeState::UpgradeFailed && node.record.version == policy_.version;
    }

    /// Assigns hosts to waves of limited size. The order is: hosts that have begun or are done, by time;
    /// hosts that could begin; hosts that are away. So a host that joins later neither restarts the soak of a
    /// wave nor replaces a host that failed in it.
    void make_waves() {
        std::vector<unsigned> room;
        for (std::size_t i = 0; i < policy_.waves.size(); ++i) {
            const auto selected = static_cast<unsigned>(
                std::count_if(members_.begin(), members_.end(),
                              [&](const Member& member) { return (member.host->waves >> i & 1U) != 0; }));
            const CountOrShare& size = policy_.waves[i].size;
            room.push_back(size.number == 0 ? selected : size.of(selected));
        }
        std::vector<Member*> order;
        for (Member& member : members_)
            order.push_back(&member);
        std::stable_sort(order.begin(), order.end(), [&](const Member* a, const Member* b) {
            return turn_for_wave(*a) < turn_for_wave(*b);
        });
        for (Member* const member : order)
            member->wave = claim_slot(room, member->host->waves);
    }

    [[nodiscard]] std::pair<unsigned, std::int64_t> turn_for_wave(const Member& member) const {
        const UpgradeNode& node = member.host->node;
        const bool went_wrong = has_failed(node) || !broken(node).empty();
        if (member.has_place || ((is_done(node) || has_failed(node)) && !(went_wrong && node.skip)))
            return {0, node.record.since};
        if (member.is_away())
            return {3, 0};
        return {node.record.prepared && node.record.version == policy_.version ? 1 : 2, 0};
    }

    /// Reduces the room of the first wave that selects the host and is not full, and returns the wave.
    /// Returns the number of waves if there is no such wave.
    static std::size_t claim_slot(std::vector<unsigned>& room, std::uint64_t waves) {
        for (std::size_t i = 0; i < room.size(); ++i)
            if ((waves >> i & 1U) != 0 && room[i] > 0) {
                --room[i];
                return i;
            }
        return room.size();
    }

    void count(const Member& member) {
        const UpgradeNode& node = member.host->node;
        total_ += is_counted(member) ? 1 : 0;
        unavailable_ += is_unavailable(member) ? 1 : 0;
        numbers_.in_progress += member.has_place ? 1 : 0;
        numbers_.pending += !member.has_place && node.state == UpgradeState::UpgradeRequired ? 1 : 0;
        numbers_.done += is_done(node) ? 1 : 0;
        numbers_.failed += has_failed(node) ? 1 : 0;
    }

    /// Returns true if the host counts in the total. A percentage in maxUnavailable is a share of this total.
    [[nodiscard]] bool is_counted(const Member& member) const {
        const UpgradeNode& node = member.host->node;
        if (policy_.count_all_unavailable)
            return true;
        return member.has_place ? !node.others_cordoned() : !is_outside(node) || counts_as_broken(node);
    }

    [[nodiscard]] bool is_unavailable(const Member& member) const {
        const UpgradeNode& node = member.host->node;
        if (policy_.count_all_unavailable)
            return member.has_place || node.unschedulable || !node.ready || counts_as_broken(node);
        if (member.has_place)
            return !node.others_cordoned();
        return counts_as_broken(node) || (!is_outside(node) && node.unschedulable);
    }

    [[nodiscard]] unsigned free_places() const {
        if (policy_.max_parallel == 0)
            return no_limit;
        const unsigned taken = numbers_.in_progress + held_;
        return policy_.max_parallel > taken ? policy_.max_parallel - taken : 0;
    }

    [[nodiscard]] unsigned unavailable_left() const {
        const unsigned most = policy_.max_unavailable.of(total_);
        return most > unavailable_ ? most - unavailable_ : 0;
    }

    /// Returns the reason why no host of the pool may begin; empty: no reason.
    std::string shut_reason(const std::string& closed) {
        if (!policy_.driver_enabled)
            return "driver.enabled is false";
        if (policy_.version.empty())
            return "the policy names no driver.version";
        if (!closed.empty())
            return closed;
        if (numbers_.failed > policy_.failure_budget.of(numbers_.hosts))
            return "halted: more hosts have failed than rollout.failureBudget " +
                   policy_.failure_budget.text() + " allows";
        const WindowState window = window_at(policy_.windows, now_);
        if (window.until)
            sooner(admission_.again, *window.until);
        return window.open ? "" : window.reason;
    }

    /// Returns why later waves wait for this host, as the end of a sentence; nullopt if they do not wait.
    [[nodiscard]] std::optional<std::string> holds_wave(const Member& member) const {
        const UpgradeNode& node = member.host->node;
        if (is_done(node))
            return counts_as_broken(node) ? std::optional(" " + broken(node)) : std::nullopt;
        // Check has_failed() before is_away(): a host that its new driver broke is also not ready, but its
        // wave must wait.
        if (has_failed(node) && (member.has_place || !node.skip))
            return " has failed";
        return member.has_place || !member.is_away() ? std::optional<std::string>("") : std::nullopt;
    }

    /// Sets turn_ to the current wave: the first that is unfinished or still soaks.
    void find_wave() {
        for (turn_ = 0; turn_ < policy_.waves.size(); ++turn_) {
            const Wave& wave = policy_.waves[turn_];
            std::int64_t last = 0;
            for (const Member& member : members_) {
                if (member.wave != turn_)
                    continue;
                const UpgradeNode& node = member.host->node;
                if (const auto held = holds_wave(member)) {
                    wave_reason_ = {"wave '" + wave.name + "' runs first, and is not done",
                                    "node '" + node.name + "'" + *held};
                    return;
                }
                last = std::max(last, is_done(node) ? node.record.since : 0);
            }
            const std::int64_t soaked = last + wave.soak.count();
            if (last != 0 && soaked > now_) {
                sooner(admission_.again, soaked);
                wave_reason_.text =
                    "wave '" + wave.name + "' soaks for " + std::to_string(wave.soak.count()) + " s";
                return;
            }
        }
    }

    /// Returns a reason to wait that concerns only this host; empty if there is none.
    std::string own_reason(const Member& member) {
        const UpgradeNode& node = member.host->node;
        if (node.skip)
            return "label " + std::string(key::skip) + " is set";
        if (!node.ready)
            return "the node is not ready";
        if (node.leaving)
            return "the node is being removed";
        if (!node.gpu_label)
            return "label " + std::string(key::gpu_present) + " is not 'true'";
        if (member.unused != nullptr && member.unused->wait.count() > 0)
            return "the host did not use its last grant: is gpuhost-cluster running there?";
        if (policy_.mode == UpgradeMode::OnRequest && !node.record.requested)
            return "autoUpgrade is off";
        if (!node.record.prepared || (node.record.version != policy_.version && !node.record.requested))
            return node.reason.empty() ? "waits until the host has checked version " + policy_.version
                                       : node.reason;
        return {};
    }

    void consider(const Member& member, unsigned& left, const std::string& shut) {
        const UpgradeNode& node = member.host->node;
        Reason why{own_reason(member), ""};
        if (why.text.empty())
            why.text = shut;
        if (why.text.empty())
            why = common_reason(member, left);
        if (!why.text.empty()) {
            admission_.waiting[node.name] = why.text + (why.about.empty() ? "" : ": " + why.about);
            return;
        }
        if (is_held_) {
            ++held_;
            admission_.waiting[node.name] = "waits for the answer of a gate";
        } else {
            admission_.admit.push_back(node.name);
            ++numbers_.in_progress;
            --numbers_.pending;
        }
        unavailable_ +=
            is_unavailable(member) || (!policy_.count_all_unavailable && node.others_cordoned()) ? 0 : 1;
        --left;
        if (!member.host->topology.empty())
            topology_ = member.host->topology;
    }

    /// Returns why a host that could be upgraded must wait; empty: it may begin.
    Reason common_reason(const Member& member, unsigned left) {
        Reason why = place_reason(member, left);
        if (why.text.empty()) {
            check_gates();
            why.text = gate_reason_;
        }
        if (reason_.empty())
            reason_ = why.text;
        return why;
    }

    [[nodiscard]] Reason place_reason(const Member& member, unsigned left) const {
        const UpgradeNode& node = member.host->node;
        if (policy_.mode != UpgradeMode::OnRequest && member.wave > turn_)
            return wave_reason_;
        if (left == 0)
            return {"all places are taken: rollout.maxParallelUpgrades", ""};
        if (free_places() == 0)
            return {"all places are taken: maxParallelUpgrades is " + std::to_string(policy_.max_parallel),
                    ""};
        const bool adds =
            !is_unavailable(member) && (policy_.count_all_unavailable || !node.others_cordoned());
        if (unavailable_ + (adds ? 1 : 0) > policy_.max_unavailable.of(total_) &&
            (adds || policy_.count_all_unavailable))
            return {"as many hosts are unavailable as maxUnavailable " + policy_.max_unavailable.text() +
                        " allows",
                    ""};
        if (!topology_.empty() && !member.host->topology.empty() && topology_ != member.host->topology)
            return {"one " + policy_.topology_key + " at a time", "hosts of " + topology_ + " upgrade now"};
        return {};
    }

    /// Checks the gates. Called only for a host that waits for nothing else, so that gates are not queried
    /// without need.
    void check_gates() {
        if (std::exchange(gates_seen_, true))
            return;
        for (const Gate& gate : policy_.gates) {
            const auto state = gates_.find(gate);
            if (state != gates_.end() && state->second.empty())
                continue;
            admission_.asks.insert(gate);
            if (state == gates_.end())
                is_held_ = true;
            else if (gate_reason_.empty())
                gate_reason_ = state->second;
        }
    }

    const UpgradePolicy& policy_;
    const GateStates& gates_;
    std::int64_t now_; ///< seconds since 1970
    Admission& admission_;
    std::vector<Member> members_;
    std::size_t turn_ = 0;
    Reason wave_reason_;
    std::string topology_; ///< hosts with this value of the topology label upgrade now
    std::string reason_;
    bool gates_seen_ = false;
    bool is_held_ = false; ///< a gate has no answer yet: reserve places, admit no host
    std::string gate_reason_;
    unsigned held_;
    PoolNumbers numbers_;
    unsigned total_ = 0;
    unsigned unavailable_;
};

/// Returns true if a grant must be revoked: the Node was replaced, or the host did not renew the grant for
/// too long. The grant counts until it is deleted, because the host may still renew it. A grant for an
/// unknown node is not revoked earlier, because Kubernetes' garbage collector deletes the grants of deleted
/// Nodes.
bool is_void(const Grant& grant, const Fleet& fleet, const Policy& policy) {
    const auto host = fleet.hosts.find(grant.node);
    const bool is_known = host != fleet.hosts.end();
    if (is_known && host->second.node.uid != grant.uid)
        return true;
    const bool under_way = is_known && is_under_way(host->second.node.state);
    if (!grant.taken && !under_way)
        return grant.silent >= claim_deadline;
    // The host uses the duration that is in its grant, even if the policy has changed since.
    if (policy.silence.count() == 0 || grant.silent < std::max(policy.silence, 2 * grant.duration))
        return false;
    return policy.release_silent || !under_way;
}

/// Returns true if the host has a grant, or is upgrading without one. An upgrade without a grant does not
/// count if the policy releases the places of silent hosts, or if the state in the host's record is not the
/// state in its label.
bool has_place(const FleetHost& host, const Fleet& fleet, const Policy& policy) {
    const UpgradeNode& node = host.node;
    return fleet.grants.count(node.name) != 0 ||
           (!policy.release_silent && is_under_way(node.state) && node.record.state == node.state);
}

} // namespace

FleetHost place(UpgradeNode node, const Labels& labels, const Policy& policy) {
    FleetHost host;
    host.node = std::move(node);
    host.pool = policy.pool_of(labels);
    const UpgradePolicy& upgrade = policy.pools[host.pool].policy;
    for (std::size_t i = 0; i < upgrade.waves.size() && i < 64; ++i)
        if (upgrade.waves[i].selector.matches(labels))
            host.waves |= std::uint64_t{1} << i;
    if (const auto label = labels.find(upgrade.topology_key); label != labels.end())
        host.topology = label->second;
    return host;
}

Admission admit(const Fleet& fleet, const Policy& policy, const GateStates& gates, std::int64_t now) {
    Admission admission;
    unsigned strangers = 0;
    for (const auto& [name, grant] : fleet.grants) {
        if (is_void(grant, fleet, policy))
            admission.revoke.push_back(name);
        strangers += fleet.hosts.count(name) == 0 ? 1 : 0;
    }
    std::size_t taken = strangers;
    for (const auto& [name, host] : fleet.hosts)
        taken += has_place(host, fleet, policy) ? 1 : 0;
    unsigned left = policy.max_parallel == 0      ? no_limit
                    : policy.max_parallel > taken ? policy.max_parallel - static_cast<unsigned>(taken)
                                                  : 0;
    const std::string closed =
        policy.problems.empty() ? std::string() : "the policy has a problem: " + policy.problems.front().text;
    for (std::size_t index = 0; index < policy.pools.size(); ++index) {
        PoolRound round(policy.pools[index], gates, now, strangers, admission);
        for (const auto& [name, host] : fleet.hosts) {
            const bool place = has_place(host, fleet, policy);
            const auto unused = fleet.unused.find(name);
            if (host.pool == index && (host.node.managed || place))
                round.take(host, place, unused == fleet.unused.end() ? nullptr : &unused->second);
        }
        round.run(left, closed);
    }
    return admission;
}

} // namespace gpuhost::cluster
