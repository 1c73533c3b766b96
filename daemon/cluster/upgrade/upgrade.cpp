// SPDX-License-Identifier: Apache-2.0
// Each state is a function: a list of guards in order of precedence, each with the decision that it returns.
// A table {from, guard, to, act} of the whole machine would be longer: fail(), release() and after_jobs() get
// the next state from the policy, so each row would need two functions beside its four columns.
#include "daemon/cluster/upgrade/upgrade.hpp"

#include "daemon/cluster/kube/shortened.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace gpuhost::cluster {
namespace {

using enum UpgradeState;
using Events = std::vector<UpgradeEvent>;

/// The most reboots for one version. If the driver is not loaded after one reboot, another reboot does not
/// help.
constexpr unsigned most_reboots = 1;
constexpr unsigned most_doublings = 10;
/// Bytes of each annotation for people. All annotations of a Node may have 256 KiB.
constexpr std::size_t most_text = 4096;
constexpr const char* scheduling_drain = "Scheduling drain of the node";
constexpr const char* drained_node = "Successfully drained the node";
constexpr const char* failed_drain = "Failed to drain the node, ";
/// A recorded time that is more than this many seconds in the future was written before the clock was set
/// back.
constexpr std::int64_t set_back = 60;

/// Returns the decision that changes nothing on the Node.
UpgradeDecision unchanged(const UpgradeNode& node) {
    UpgradeDecision next;
    next.state = node.state;
    next.record = node.record;
    next.reason = node.reason;
    next.was_unschedulable = node.was_unschedulable;
    return next;
}

/// Returns `next` with `events` before its own events.
UpgradeDecision after(const Events& events, UpgradeDecision next) {
    next.events.insert(next.events.begin(), events.begin(), events.end());
    return next;
}

class Upgrade {
  public:
    explicit Upgrade(const UpgradeInput& input)
        : at_(input), policy_(*input.policy), node_(input.node), record_(current_record()) {}

    [[nodiscard]] UpgradeDecision decide() const {
        using Decide = UpgradeDecision (Upgrade::*)() const;
        // in the order of UpgradeState
        static constexpr std::array<Decide, 11> states{
            &Upgrade::idle,        &Upgrade::required, &Upgrade::cordon, &Upgrade::jobs,
            &Upgrade::delete_pods, &Upgrade::drain,    &Upgrade::swap,   &Upgrade::validate,
            &Upgrade::done,        &Upgrade::idle,     &Upgrade::failed};
        UpgradeDecision next = is_under_way(node_.state) && node_.record.state != node_.state && !at_.granted
                                   ? request()
                                   : (this->*states.at(static_cast<std::size_t>(node_.state)))();
        next.wants_grant = next.wants_grant || (is_under_way(node_.state) && is_under_way(next.state));
        next.reason = shortened(std::move(next.reason), most_text);
        next.record.cause = shortened(std::move(next.record.cause), most_text);
        next.drops_request = !at_.driver.requested.empty() && (!is_requested() || is_request_on_node());
        const bool is_wanted = has_desired_version() && !is_pinned_elsewhere();
        // A failed upgrade is repeated only on request.
        const bool on_request = policy_.mode == UpgradeMode::OnRequest || next.state == UpgradeFailed;
        if (is_wanted && !on_request)
            next.scheduled = policy_.version;
        const bool waits = is_wanted && on_request && !runs_wanted();
        if (waits && (next.state == Unknown || next.state == UpgradeDone || next.state == UpgradeFailed))
            next.offer = policy_.version;
        return next;
    }

  private:
    // Conditions

    [[nodiscard]] bool has_desired_version() const {
        return policy_.driver_enabled && !policy_.version.empty() && at_.driver.has_gpus;
    }
    [[nodiscard]] bool runs_wanted() const {
        return at_.driver.running == policy_.version && at_.driver.ready;
    }
    /// Returns true if an administrator has requested the upgrade, on the Node or on the host.
    [[nodiscard]] bool is_requested() const {
        return node_.requested ||
               (at_.driver.requested == policy_.version && has_desired_version() && !runs_wanted());
    }
    [[nodiscard]] bool is_request_on_node() const {
        return is_under_way(node_.state) || (node_.state == UpgradeRequired &&
                                             node_.record.state == UpgradeRequired && node_.record.requested);
    }
    [[nodiscard]] bool is_pinned_elsewhere() const {
        return !at_.driver.pinned.empty() && at_.driver.pinned != policy_.version;
    }
    [[nodiscard]] bool is_paused() const {
        return !has_desired_version() || (policy_.mode == UpgradeMode::OnRequest && !record_.requested);
    }
    /// Returns when the state will have lasted for `timeout`; nullopt (never) if `timeout` is 0.
    [[nodiscard]] std::optional<std::int64_t> deadline(Seconds timeout) const {
        return timeout.count() == 0 ? std::nullopt : std::optional(record_.since + timeout.count());
    }
    [[nodiscard]] bool is_late(Seconds timeout) const {
        const auto end = deadline(timeout);
        return end && at_.now >= *end;
    }
    [[nodiscard]] bool is_away() const { return !node_.ready || node_.others_cordoned(); }
    /// Returns true if the driver works. Before the state pod-restart-required nothing has changed the
    /// driver, so it counts as working.
    [[nodiscard]] bool serves() const { return at_.driver.ready || node_.state < PodRestartRequired; }
    [[nodiscard]] bool is_swapping() const { return at_.swap.state == Task::State::Running; }
    /// Returns true if this host would begin its upgrade as soon as it has a grant. Otherwise it requests no
    /// grant, since an unused grant would block another host.
    [[nodiscard]] bool would_begin(const WindowState& window) const {
        return window.open && at_.policy_problem.empty();
    }
    [[nodiscard]] WindowState current_window() const { return window_at(policy_.windows, at_.now); }

    [[nodiscard]] std::string waiting_reason() const {
        if (node_.skip)
            return "label " + std::string(key::skip) + " is set";
        if (!node_.ready)
            return "the node is not ready";
        if (node_.leaving)
            return "the node is being removed";
        if (const auto label = at_.labels.find(key::gpu_present);
            label != at_.labels.end() && label->second != "true")
            return "label " + std::string(key::gpu_present) + " is '" + label->second +
                   "': leaders grant this node no upgrade";
        if (!at_.policy_problem.empty())
            return "the policy has a problem: " + at_.policy_problem;
        return at_.waits.empty() ? "waits for its turn" : at_.waits;
    }

    /// Returns a record without traces of earlier attempts, for an upgrade that a person requested.
    [[nodiscard]] UpgradeRecord requested_record() const {
        UpgradeRecord record;
        record.requested = true;
        record.cordoned = node_.record.cordoned;
        return record;
    }

    /// Returns the Node's record. Corrects it after the clock was set back, and after a person requested the
    /// upgrade.
    [[nodiscard]] UpgradeRecord current_record() const {
        UpgradeRecord record = node_.record;
        if (record.since > at_.now + set_back && at_.swap.state == Task::State::None) {
            record.since = at_.now;
            record.retry_at = 0;
        }
        if (node_.state == UpgradeRequired && (node_.requested || (is_requested() && !record.requested) ||
                                               record.state != UpgradeRequired)) { // a person set the label
            record = requested_record();
            record.state = UpgradeRequired;
            record.since = at_.now;
        }
        return record;
    }

    // Transitions

    /// Stays in the state. `due`: times of the next evaluation; those that have passed do not count.
    [[nodiscard]] UpgradeDecision stay(UpgradeAct act, std::string reason,
                                       std::initializer_list<std::optional<std::int64_t>> due = {}) const {
        UpgradeDecision next = unchanged(node_);
        next.record = record_;
        next.act = act;
        next.reason = std::move(reason);
        for (const auto& when : due)
            if (when > at_.now)
                next.due = std::min(*when, next.due.value_or(*when));
        return next;
    }
    [[nodiscard]] UpgradeDecision hold() const { return stay(UpgradeAct::None, node_.reason); }

    [[nodiscard]] UpgradeDecision to(UpgradeState state, UpgradeRecord record,
                                     std::string reason = {}) const {
        UpgradeDecision next = stay(UpgradeAct::None, std::move(reason));
        next.state = state;
        next.record = std::move(record);
        next.record.state = state;
        next.record.since = at_.now;
        if (state != Unknown && state != node_.state)
            next.events.push_back(
                {false, "Successfully updated node state label to " + std::string(state_name(state))});
        if (state == DrainRequired)
            next.events.push_back({false, scheduling_drain});
        return next;
    }

    /// Returns `next`, changed so that NVIDIA's operands return. If `uncordons`, also reverts this host's
    /// cordon.
    [[nodiscard]] UpgradeDecision give_back(UpgradeDecision next, bool uncordons = true) const {
        next.labels = unpaused(at_.labels);
        if (!uncordons)
            return next;
        if (record_.cordoned && node_.unschedulable)
            next.cordon = false;
        next.record.cordoned = false;
        next.was_unschedulable = false;
        return next;
    }

    /// Starts the upgrade from the beginning. Called if a person, not this host, set the state label, and the
    /// host has no grant.
    [[nodiscard]] UpgradeDecision request() const {
        return to(UpgradeRequired, requested_record(), waiting_reason());
    }

    /// Sets the label upgrade-required, but only after the check has shown whether the upgrade is possible.
    [[nodiscard]] UpgradeDecision begin(bool requested) const {
        if (!at_.check.is_done() && !at_.check.has_failed())
            return stay(UpgradeAct::Check, node_.reason);
        UpgradeRecord record;
        record.version = policy_.version;
        record.requested = requested;
        record.prepared = at_.check.is_done() && would_begin(current_window());
        record.cordoned = record_.cordoned && node_.unschedulable;
        return to(UpgradeRequired, record, at_.check.is_done() ? waiting_reason() : at_.check.text);
    }

    /// Removes the state label, because the policy requires no upgrade of this host.
    [[nodiscard]] UpgradeDecision forget() const {
        const std::string version = runs_wanted() ? "has " : "the policy sets version ";
        const std::string why =
            has_desired_version() ? version + policy_.version + "; autoUpgrade is off" : std::string();
        if (node_.state == Unknown && !record_.cordoned)
            return stay(UpgradeAct::None, why);
        UpgradeDecision next = give_back(to(Unknown, {}, why));
        next.record = {};
        return next;
    }

    /// Ends the attempt, which does not count. The host waits again in the state upgrade-required, or in the
    /// state Unknown if is_paused().
    [[nodiscard]] UpgradeDecision release(const std::string& why) const {
        UpgradeRecord record = record_;
        if (record.attempts > 0)
            --record.attempts;
        record.prepared = record.prepared && policy_.version == record.version;
        // A host whose grant was revoked, and whose driver does not work, stays cordoned while it waits for
        // another grant.
        return give_back(to(is_paused() ? Unknown : UpgradeRequired, record, why), !at_.revoked || serves());
    }

    /// Called before the first irreversible step. Returns the decision to release the host, or to wait, if
    /// the policy, `window` or the grant does not allow the upgrade; nullopt if the upgrade may continue.
    [[nodiscard]] std::optional<UpgradeDecision> released(const WindowState& window = {}) const {
        if (is_paused())
            return release("autoUpgrade is off");
        if (policy_.version != record_.version)
            return release("the policy now sets version " + policy_.version);
        if (at_.revoked)
            return release("its grant was revoked");
        if (!window.open)
            return release(window.reason);
        if (!at_.granted)
            return stay(UpgradeAct::None, node_.reason, {window.until});
        return std::nullopt;
    }

    [[nodiscard]] UpgradeDecision fail(const std::string& failure, const std::string& why,
                                       bool is_final = false) const {
        return fail(record_, failure, why, is_final);
    }
    [[nodiscard]] UpgradeDecision fail(UpgradeRecord record, const std::string& failure,
                                       const std::string& why, bool is_final) const {
        record.failure = failure;
        record.cause = why;
        record.away = node_.others_cordoned();
        if (is_final || record.attempts > policy_.retries || !serves())
            return give_back(to(UpgradeFailed, record, failure + ": " + why), serves());
        record.prepared = false;
        record.retry_at = at_.now + (policy_.retry_delay.count()
                                     << std::min(std::max(record.attempts, 1U) - 1, most_doublings));
        return give_back(to(UpgradeRequired, record, "retries after: " + why));
    }

    // States

    [[nodiscard]] UpgradeDecision idle() const {
        if (is_requested() && has_desired_version())
            return begin(true);
        if (!has_desired_version() || policy_.mode == UpgradeMode::OnRequest)
            return forget();
        if (runs_wanted())
            return keep_done();
        if (at_.driver.running == policy_.version)
            return stay(UpgradeAct::None, at_.driver.changing ? node_.reason : at_.driver.problem);
        return begin(false);
    }

    /// Sets the label upgrade-done, unless the Node has it. If only the label was removed, keeps the time of
    /// completion, because later waves measure their wait from that time.
    [[nodiscard]] UpgradeDecision keep_done() const {
        const bool was_done = record_.state == UpgradeDone && record_.version == policy_.version;
        UpgradeDecision next = stay(UpgradeAct::None, "");
        if (node_.state != UpgradeDone || !was_done) {
            UpgradeRecord record;
            record.version = policy_.version;
            next = give_back(to(UpgradeDone, record));
            if (was_done)
                next.record.since = record_.since;
        }
        next.record.away = is_away() && (!was_done || record_.away);
        return next;
    }

    [[nodiscard]] UpgradeDecision required() const {
        if (is_paused())
            return forget();
        if (!record_.requested && runs_wanted())
            return done();
        if (is_pinned_elsewhere()) {
            UpgradeDecision next = stay(UpgradeAct::None, "gpuhostd.conf has Version=" + at_.driver.pinned +
                                                              ", which the cluster does not override");
            next.record.prepared = false;
            return next;
        }
        const WindowState window = current_window();
        UpgradeDecision next = stay(UpgradeAct::Check, node_.reason, {window.until, record_.retry_at});
        UpgradeRecord& record = next.record;
        const bool failed = at_.check.has_failed();
        // The leader's clock may differ, so `prepared` shows the leader that this host has reached retry_at.
        record.prepared = would_begin(window) && !failed &&
                          (at_.check.is_done() ? record.retry_at <= at_.now
                                               : record.prepared && record.version == policy_.version);
        if (at_.check.is_done() || failed)
            record.version = policy_.version;
        if (failed)
            next.reason = at_.check.text;
        if (failed || record.retry_at > at_.now)
            return next;
        next.wants_grant = record.prepared && !node_.skip && node_.ready && !node_.leaving;
        if (next.wants_grant && at_.granted)
            return attempt(record);
        if (would_begin(window) && !record.prepared)
            next.reason = "checks whether version " + policy_.version + " is available on this host";
        else
            next.reason = window.open ? waiting_reason() : window.reason;
        return next;
    }

    [[nodiscard]] UpgradeDecision attempt(UpgradeRecord record) const {
        record.attempts += 1;
        record.retry_at = 0;
        // An interrupted swap may have unloaded the driver: `from` then keeps the version that ran before.
        if (!at_.driver.running.empty() || record.from.empty())
            record.from = at_.driver.running;
        record.drained = false;
        record.failure.clear();
        record.cause.clear();
        UpgradeDecision next = to(CordonRequired, record);
        next.was_unschedulable = node_.unschedulable && !record.cordoned;
        next.wants_grant = true;
        return next;
    }

    [[nodiscard]] UpgradeDecision cordon() const {
        if (auto ended = released(current_window()))
            return *std::move(ended);
        UpgradeDecision next = policy_.wait_for.empty() ? after_jobs() : to(WaitForJobsRequired, record_);
        if (next.state == WaitForJobsRequired && policy_.wait_timeout.count() != 0)
            next.wait_began = at_.now;
        if (!node_.unschedulable)
            next.cordon = next.record.cordoned = true;
        return next;
    }

    [[nodiscard]] UpgradeDecision after_jobs() const {
        if (policy_.deletion.enabled)
            return to(PodDeletionRequired, record_);
        return policy_.drain.enabled ? to(DrainRequired, record_) : to_swap(record_.drained);
    }

    [[nodiscard]] UpgradeDecision to_swap(bool drained) const {
        UpgradeDecision next = to(PodRestartRequired, record_);
        next.record.drained = drained;
        next.labels = paused(at_.labels);
        return next;
    }

    [[nodiscard]] UpgradeDecision jobs() const {
        const WindowState window = current_window();
        if (auto ended = released(window))
            return *std::move(ended);
        if (at_.jobs.is_done() || is_late(policy_.wait_timeout))
            return after_jobs();
        if (at_.jobs.has_failed())
            return fail("eviction", at_.jobs.text);
        return stay(UpgradeAct::WaitForJobs, "waits for pods to end: " + at_.jobs.text,
                    {window.until, deadline(policy_.wait_timeout)});
    }

    [[nodiscard]] UpgradeDecision delete_pods() const {
        if (auto ended = released())
            return *std::move(ended);
        if (!policy_.deletion.enabled)
            return after_jobs();
        Events events;
        if (at_.pods.is_done()) {
            if (!at_.pods.text.empty())
                events.push_back({false, "Deleted workload pods on the node for the driver upgrade"});
            return after(events, to_swap(false));
        }
        if (!at_.pods.has_failed())
            return stay(UpgradeAct::DeletePods, at_.pods.text);
        events.push_back(
            {true, "Failed to delete workload pods on the node for the driver upgrade, " + at_.pods.text});
        if (!policy_.drain.enabled)
            return after(events, fail("eviction", at_.pods.text));
        events.push_back(
            {true, "Pod deletion failed but drain is enabled in spec. Will attempt a node drain"});
        return after(events, to(DrainRequired, record_, at_.pods.text));
    }

    [[nodiscard]] UpgradeDecision drain() const {
        if (auto ended = released())
            return *std::move(ended);
        if (!policy_.drain.enabled)
            return to_swap(record_.drained);
        if (at_.pods.is_done())
            return after({{false, drained_node}}, to_swap(true));
        if (at_.pods.has_failed())
            return after({{true, failed_drain + at_.pods.text}}, fail("drain", at_.pods.text));
        return stay(UpgradeAct::Drain, at_.pods.text);
    }

    [[nodiscard]] UpgradeDecision swap() const {
        if (at_.driver.reboot_required && !is_swapping())
            return reboot();
        if (at_.driver.running == record_.version && !is_swapping() &&
            (at_.driver.ready || at_.swap.is_done()))
            return swapped();
        if (at_.swap.is_done())
            return fail("swap", "the swap ended, but driver " + at_.driver.running + " runs");
        if (at_.swap.has_failed())
            return fail("swap", at_.swap.text, at_.swap.is_final);
        const bool late = is_late(policy_.swap_timeout);
        if (is_swapping())
            return keep_paused(stay(late ? UpgradeAct::CancelSwap : UpgradeAct::Swap, at_.swap.text,
                                    {deadline(policy_.swap_timeout)}));
        if (auto ended = released())
            return *std::move(ended);
        if (late)
            return fail("swap", "the driver was not swapped within " +
                                    std::to_string(policy_.swap_timeout.count()) + " s");
        return keep_paused(stay(UpgradeAct::Swap, "", {deadline(policy_.swap_timeout)}));
    }

    /// Pauses again what another controller has resumed, such as NVSentinel after a reset of a GPU: pods that
    /// return during the swap hold the driver.
    [[nodiscard]] UpgradeDecision keep_paused(UpgradeDecision next) const {
        next.labels = paused(at_.labels);
        return next;
    }

    [[nodiscard]] UpgradeDecision swapped() const {
        UpgradeDecision next = to(ValidationRequired, record_);
        next.labels = unpaused(at_.labels);
        next.validation_began = at_.now;
        return next;
    }

    /// Drains the node first, because a reboot also ends the pods without a GPU.
    [[nodiscard]] UpgradeDecision reboot() const {
        if (!policy_.may_reboot)
            return fail("reboot", "a reboot is required: " + at_.driver.problem, true);
        if (!policy_.drain.enabled)
            return fail("reboot",
                        "a reboot is required, which the policy allows only after a drain "
                        "(drain.enable is false): " +
                            at_.driver.problem,
                        true);
        // Wait while it is unknown whether the grant exists. Without a grant, finish the upgrade that was
        // begun.
        if (!at_.granted && !at_.revoked)
            return hold();
        UpgradeDecision next = stay(UpgradeAct::Reboot, "reboots");
        UpgradeRecord& record = next.record;
        if (record.boot != at_.driver.boot) {
            if (record.reboots >= most_reboots)
                return fail("reboot", "a reboot is required again after a reboot: " + at_.driver.problem,
                            true);
            ++record.reboots;
            record.boot = at_.driver.boot;
            if (!record.drained) {
                record.since = at_.now; // starts the drain's timeout
                next.events.push_back({false, scheduling_drain});
            }
        }
        if (record.drained)
            return next;
        if (at_.pods.has_failed()) {
            next.events.push_back({true, failed_drain + at_.pods.text});
            return after(next.events, fail(record, "drain", at_.pods.text, false));
        }
        if (at_.pods.is_done()) {
            record.drained = true;
            next.events.push_back({false, drained_node});
            return next;
        }
        next.act = UpgradeAct::Drain;
        next.reason =
            "drains the node before it is rebooted" + (at_.pods.text.empty() ? "" : ": " + at_.pods.text);
        return next;
    }

    /// Returns when the validation times out; nullopt: never, or not known. If the new driver is ready, only
    /// the validator pods are missing. Before the timeout, these pods must have been visible for some time,
    /// because they cannot report while the API server is down.
    [[nodiscard]] std::optional<std::int64_t> validation_ends() const {
        const auto ends = deadline(policy_.validation_timeout);
        if (!ends || !at_.driver.ready || at_.driver.running != record_.version)
            return ends;
        if (at_.validators.state == Task::State::None)
            return std::nullopt;
        return std::max(*ends, at_.validators.late_from);
    }

    [[nodiscard]] UpgradeDecision validate() const {
        const bool passes =
            at_.driver.running == record_.version && at_.driver.ready && at_.validators.is_done();
        if (record_.failure == "validation" && (!passes || is_swapping()))
            return roll_back(record_.cause);
        if (passes)
            return node_.was_unschedulable || !record_.cordoned ? done() : to(UncordonRequired, record_);
        // While an operation may change the driver, `ready` is false although the driver is not broken. So
        // wait without a deadline.
        if (at_.driver.changing)
            return stay(UpgradeAct::Validate, node_.reason);
        // Another version runs, for example after a reboot or another client's swap. Waiting would not change
        // that.
        if (at_.driver.ready && at_.driver.running != record_.version)
            return fail("validation", "driver " + at_.driver.running + " runs again");
        const std::string& why = at_.driver.ready ? at_.validators.text : at_.driver.problem;
        const auto ends = validation_ends();
        return !ends || at_.now < *ends ? stay(UpgradeAct::Validate, why, {ends}) : roll_back(why);
    }

    /// Rolls back to the version that ran before. Fails if there was none.
    [[nodiscard]] UpgradeDecision roll_back(const std::string& why) const {
        if (!policy_.rollback || record_.from.empty() || record_.from == record_.version ||
            at_.swap.has_failed())
            return fail("validation", why, true);
        if (at_.driver.running == record_.from && at_.driver.ready)
            return fail("validation", why + "; version " + record_.from + " runs again");
        UpgradeDecision next =
            stay(UpgradeAct::RollBack, "rolls back to version " + record_.from + ", since version " +
                                           record_.version + " failed its validation: " + why);
        next.record.failure = "validation";
        next.record.cause = why;
        return next;
    }

    [[nodiscard]] UpgradeDecision done() const {
        UpgradeRecord record;
        record.version = record_.version.empty() ? policy_.version : record_.version;
        record.away = node_.others_cordoned();
        return give_back(to(UpgradeDone, record));
    }

    [[nodiscard]] UpgradeDecision failed() const {
        if (has_desired_version() && record_.version != policy_.version &&
            policy_.mode != UpgradeMode::OnRequest)
            return runs_wanted() ? done() : begin(false);
        if (is_requested() && has_desired_version())
            return begin(true);
        // The upgrade failed without a driver, for example because the host went down during a swap. Now the
        // earlier driver runs again.
        if (record_.cordoned && at_.driver.ready && at_.driver.running == record_.from)
            return fail(record_.failure, record_.cause);
        if (at_.driver.running != record_.version || !at_.driver.ready)
            return hold();
        if (!at_.validators.is_done())
            return stay(UpgradeAct::Validate, node_.reason);
        return record_.cordoned ? to(UncordonRequired, record_) : done();
    }

    const UpgradeInput& at_;
    const UpgradePolicy& policy_;
    const UpgradeNode& node_;
    const UpgradeRecord record_;
};

} // namespace

UpgradeDecision next_decision(const UpgradeInput& situation) {
    if (situation.policy != nullptr && situation.driver.is_known)
        return Upgrade(situation).decide();
    UpgradeDecision next = unchanged(situation.node);
    next.wants_grant = is_under_way(next.state);
    // Withdraw `prepared`: without gpuhostd the host would not use a grant.
    if (situation.policy != nullptr && next.state == UpgradeRequired && next.record.prepared) {
        next.record.prepared = false;
        next.reason = "gpuhostd does not answer";
    }
    return next;
}

} // namespace gpuhost::cluster
