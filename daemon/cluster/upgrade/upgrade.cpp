// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/upgrade.hpp"

#include "daemon/cluster/kube/shortened.hpp"

#include <algorithm>

namespace gpuhost::cluster {
namespace {

using enum UpgradeState;

/// The most reboots for one version. If the driver is not loaded after one, it will not be after another.
constexpr unsigned most_reboots = 1;
constexpr unsigned most_doublings = 10;
/// Bytes of each annotation for people. All annotations of a Node may have 256 KiB.
constexpr std::size_t most_text = 4096;
constexpr const char* scheduling_drain = "Scheduling drain of the node";
constexpr const char* drained_node = "Successfully drained the node";
constexpr const char* failed_drain = "Failed to drain the node, ";
/// Seconds. A recorded time that is further in the future was written before the clock was set back.
constexpr std::int64_t set_back = 60;

class Step {
  public:
    explicit Step(const UpgradeInput& situation)
        : at_(situation), policy_(*situation.policy), node_(situation.node) {
        move_.state = node_.state;
        move_.record = node_.record;
        move_.reason = node_.reason;
        move_.was_unschedulable = node_.was_unschedulable;
    }

    UpgradeDecision run() {
        if (node_.record.since > at_.now + set_back && at_.swap.state == Task::State::None) {
            move_.record.since = at_.now;
            move_.record.retry_at = 0;
        }
        if (is_under_way(node_.state) && node_.record.state != node_.state && !at_.granted) {
            request();
            return std::move(move_);
        }
        switch (node_.state) {
        case Unknown:
        case UpgradeDone:
            idle();
            break;
        case UpgradeRequired:
            required();
            break;
        case CordonRequired:
            cordon();
            break;
        case WaitForJobsRequired:
            jobs();
            break;
        case PodDeletionRequired:
        case DrainRequired:
            pods();
            break;
        case PodRestartRequired:
            swap();
            break;
        case ValidationRequired:
            validate();
            break;
        case UncordonRequired:
            uncordon();
            break;
        case UpgradeFailed:
            failed();
            break;
        }
        read_request();
        return std::move(move_);
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
    [[nodiscard]] bool is_pinned_elsewhere() const {
        return !at_.driver.pinned.empty() && at_.driver.pinned != policy_.version;
    }
    [[nodiscard]] bool is_paused() const {
        return !has_desired_version() || (policy_.mode == UpgradeMode::OnRequest && !move_.record.requested);
    }
    [[nodiscard]] bool is_late(Seconds timeout) const {
        return timeout.count() != 0 && at_.now >= node_.record.since + timeout.count();
    }
    void mind(Seconds timeout) {
        if (timeout.count() != 0)
            mind(node_.record.since + timeout.count());
    }
    [[nodiscard]] bool is_away() const { return !node_.ready || node_.others_cordoned(); }
    /// Returns true if the driver works. Before the state pod-restart-required nothing has changed the
    /// driver, so it counts as working.
    [[nodiscard]] bool serves() const { return at_.driver.ready || node_.state < PodRestartRequired; }
    /// Sets the time of the next evaluation, unless an earlier one is set or the time has passed.
    void mind(std::int64_t when) {
        if (when > at_.now)
            move_.due = move_.due ? std::min(*move_.due, when) : when;
    }

    // Transitions

    void to(UpgradeState state, std::string reason = {}) {
        move_.state = state;
        move_.record.state = state;
        move_.record.since = at_.now;
        move_.reason = std::move(reason);
        move_.act = UpgradeAct::None;
        move_.due.reset();
        if (state != Unknown && state != node_.state)
            add_event("Successfully updated node state label to " + std::string(state_name(state)));
        if (state == DrainRequired)
            add_event(scheduling_drain);
    }

    void stay(UpgradeAct act, std::string reason) {
        move_.act = act;
        move_.reason = std::move(reason);
    }

    void add_event(std::string message) { move_.events.push_back({false, std::move(message)}); }
    void warn(std::string message) { move_.events.push_back({true, std::move(message)}); }

    /// Drops the request of the host's administrator after the Node has recorded it. If the host would
    /// upgrade only on request, offers the version to its administrator.
    void read_request() {
        const bool is_on_node =
            is_under_way(node_.state) || (node_.state == UpgradeRequired &&
                                          node_.record.state == UpgradeRequired && node_.record.requested);
        move_.drops_request = !at_.driver.requested.empty() && (!is_requested() || is_on_node);
        const bool waits = policy_.mode == UpgradeMode::OnRequest && has_desired_version() &&
                           !runs_wanted() && !is_pinned_elsewhere();
        if (waits && (move_.state == Unknown || move_.state == UpgradeDone || move_.state == UpgradeFailed))
            move_.offer = policy_.version;
    }

    void give_back_schedulability() {
        move_.labels = unpaused(at_.labels);
        if (move_.record.cordoned && node_.unschedulable)
            move_.cordon = false;
        move_.record.cordoned = false;
        move_.was_unschedulable = false;
    }

    /// Starts the upgrade from the beginning: a person set a state label, not this host, and the host has no
    /// grant for it.
    void request() {
        const bool cordoned = move_.record.cordoned;
        move_.record = {};
        move_.record.requested = true;
        move_.record.cordoned = cordoned;
        to(UpgradeRequired, waiting_reason());
    }

    /// Returns true if this host would begin its upgrade with a grant. Otherwise it wants none, since an
    /// unused grant would block another host.
    [[nodiscard]] bool would_begin(const WindowState& window) const {
        return window.open && at_.policy_problem.empty();
    }

    /// Returns to the state upgrade-required, so that the host waits again. The attempt does not count.
    void release(const std::string& why) {
        if (move_.record.attempts > 0)
            --move_.record.attempts;
        // A host whose grant was revoked, and whose driver does not work, stays cordoned while it waits for
        // another grant.
        if (!at_.revoked || serves())
            give_back_schedulability();
        else
            move_.labels = unpaused(at_.labels);
        to(is_paused() ? Unknown : UpgradeRequired, why);
    }

    void fail(const std::string& failure, const std::string& why, bool is_final = false) {
        const unsigned attempts = move_.record.attempts;
        move_.record.failure = failure;
        move_.record.cause = why;
        move_.record.away = node_.others_cordoned();
        const bool again = !is_final && attempts <= policy_.retries && serves();
        if (serves())
            give_back_schedulability();
        else
            move_.labels = unpaused(at_.labels);
        if (!again) {
            to(UpgradeFailed, failure + ": " + why);
            return;
        }
        const std::int64_t delay = policy_.retry_delay.count()
                                   << std::min(attempts > 0 ? attempts - 1 : 0, most_doublings);
        to(UpgradeRequired, "retries after: " + why);
        move_.record.prepared = false;
        move_.record.retry_at = at_.now + delay;
    }

    // States

    void idle() {
        if (is_requested() && has_desired_version())
            return begin(true);
        if (!has_desired_version())
            return forget();
        if (runs_wanted()) {
            if (policy_.mode == UpgradeMode::OnRequest)
                return forget();
            if (node_.state != UpgradeDone || node_.record.state != UpgradeDone ||
                node_.record.version != policy_.version) {
                // If only the label was removed, keep the time of completion, because later waves wait from
                // that time on.
                const bool was_done =
                    node_.record.state == UpgradeDone && node_.record.version == policy_.version;
                give_back_schedulability();
                move_.record = {};
                move_.record.version = policy_.version;
                move_.record.away = was_done ? node_.record.away : is_away();
                to(UpgradeDone);
                if (was_done)
                    move_.record.since = node_.record.since;
            }
            move_.record.away = move_.record.away && is_away();
            move_.reason.clear();
            return;
        }
        if (policy_.mode == UpgradeMode::OnRequest)
            return forget("the policy sets version " + policy_.version + "; autoUpgrade is off");
        if (at_.driver.running == policy_.version)
            return stay(UpgradeAct::None, at_.driver.changing ? node_.reason : at_.driver.problem);
        begin(false);
    }

    /// Returns to the state without a label: the policy requires no upgrade of this host.
    void forget(const std::string& why = {}) {
        move_.reason = why;
        if (node_.state == Unknown && !move_.record.cordoned)
            return;
        give_back_schedulability();
        to(Unknown, why);
        move_.record = {};
    }

    /// Sets the label upgrade-required, but only after the check has shown whether the upgrade is possible.
    void begin(bool requested) {
        if (at_.check.state == Task::State::None || at_.check.state == Task::State::Running) {
            move_.act = UpgradeAct::Check;
            return;
        }
        const bool cordoned = move_.record.cordoned && node_.unschedulable;
        move_.record = {};
        move_.record.version = policy_.version;
        move_.record.requested = requested;
        move_.record.prepared = at_.check.is_done() && would_begin(window_at(policy_.windows, at_.now));
        move_.record.cordoned = cordoned;
        to(UpgradeRequired, at_.check.is_done() ? waiting_reason() : at_.check.text);
    }

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

    void required() {
        UpgradeRecord& record = move_.record;
        if (node_.requested || (is_requested() && !record.requested) ||
            record.state != UpgradeRequired) { // a person set the label
            const bool cordoned = record.cordoned;
            record = {};
            record.state = UpgradeRequired;
            record.requested = true;
            record.cordoned = cordoned;
            record.since = at_.now;
        }
        if (!has_desired_version() || is_paused())
            return forget(has_desired_version()
                              ? "the policy sets version " + policy_.version + "; autoUpgrade is off"
                              : "");
        if (!record.requested && runs_wanted())
            return done();
        if (is_pinned_elsewhere()) {
            record.prepared = false;
            return stay(UpgradeAct::None, "gpuhostd.conf has Version=" + at_.driver.pinned +
                                              ", which the cluster does not override");
        }
        move_.act = UpgradeAct::Check;
        const WindowState window = window_at(policy_.windows, at_.now);
        if (window.until)
            mind(*window.until);
        if (at_.check.is_done() || at_.check.has_failed()) {
            record.version = policy_.version;
            // The leader's clock may differ: `prepared` shows it that retry_at has been reached here.
            record.prepared = at_.check.is_done() && record.retry_at <= at_.now && would_begin(window);
        } else if (record.version != policy_.version || !would_begin(window)) {
            record.prepared = false;
        }
        if (record.retry_at > at_.now && !at_.check.has_failed()) {
            mind(record.retry_at);
            return;
        }
        if (at_.check.has_failed()) {
            move_.reason = at_.check.text;
            return;
        }
        if (would_begin(window) && (!record.prepared || record.version != policy_.version)) {
            move_.reason = "checks whether version " + policy_.version + " is available on this host";
            return;
        }
        move_.wants_grant = record.prepared && !node_.skip && node_.ready && !node_.leaving;
        if (!move_.wants_grant || !at_.granted) {
            move_.reason = window.open ? waiting_reason() : window.reason;
            return;
        }
        record.attempts += 1;
        record.retry_at = 0;
        // An interrupted swap may have unloaded the driver: `from` then keeps the version that ran before.
        if (!at_.driver.running.empty() || record.from.empty())
            record.from = at_.driver.running;
        record.drained = false;
        record.failure.clear();
        record.cause.clear();
        move_.was_unschedulable = node_.unschedulable && !record.cordoned;
        to(CordonRequired);
        move_.wants_grant = true;
    }

    /// Called before the first irreversible step. If the policy or the grant no longer allows the upgrade,
    /// releases the host and returns true.
    bool is_released() {
        if (is_paused()) {
            release("autoUpgrade is off");
            return true;
        }
        if (policy_.version != node_.record.version) {
            move_.record.prepared = false;
            release("the policy now sets version " + policy_.version);
            return true;
        }
        if (at_.revoked) {
            release("its grant was revoked");
            return true;
        }
        move_.wants_grant = true;
        return false;
    }

    bool is_outside_window() {
        const WindowState window = window_at(policy_.windows, at_.now);
        if (window.open) {
            if (window.until)
                mind(*window.until);
            return false;
        }
        release(window.reason);
        return true;
    }

    void cordon() {
        if (is_released() || is_outside_window() || !at_.granted)
            return;
        if (!node_.unschedulable) {
            move_.cordon = true;
            move_.record.cordoned = true;
        }
        if (!policy_.wait_for.empty()) {
            to(WaitForJobsRequired);
            if (policy_.wait_timeout.count() != 0)
                move_.wait_began = at_.now;
        } else {
            after_jobs();
        }
        move_.wants_grant = true;
    }

    void after_jobs() {
        if (policy_.deletion.enabled)
            to(PodDeletionRequired);
        else if (policy_.drain.enabled)
            to(DrainRequired);
        else
            to_swap();
    }

    void to_swap() {
        move_.labels = paused(at_.labels);
        to(PodRestartRequired);
    }

    void jobs() {
        if (is_released() || is_outside_window() || !at_.granted)
            return;
        if (at_.jobs.is_done() || is_late(policy_.wait_timeout))
            return after_jobs();
        if (at_.jobs.has_failed())
            return fail("eviction", at_.jobs.text);
        mind(policy_.wait_timeout);
        stay(UpgradeAct::WaitForJobs, "waits for pods to end: " + at_.jobs.text);
    }

    void pods() {
        if (is_released() || !at_.granted)
            return;
        const bool deletes = node_.state == PodDeletionRequired;
        if (deletes && !policy_.deletion.enabled)
            return after_jobs();
        if (!deletes && !policy_.drain.enabled)
            return to_swap();
        if (at_.pods.is_done()) {
            if (!deletes)
                add_event(drained_node);
            else if (!at_.pods.text.empty())
                add_event("Deleted workload pods on the node for the driver upgrade");
            move_.record.drained = !deletes;
            return to_swap();
        }
        if (!at_.pods.has_failed())
            return stay(deletes ? UpgradeAct::DeletePods : UpgradeAct::Drain, at_.pods.text);
        if (!deletes) {
            warn(failed_drain + at_.pods.text);
            return fail("drain", at_.pods.text);
        }
        warn("Failed to delete workload pods on the node for the driver upgrade, " + at_.pods.text);
        if (!policy_.drain.enabled)
            return fail("eviction", at_.pods.text);
        warn("Pod deletion failed but drain is enabled in spec. Will attempt a node drain");
        to(DrainRequired, at_.pods.text);
    }

    void swap() {
        move_.wants_grant = true;
        const bool runs = at_.driver.running == node_.record.version;
        const bool is_swapping = at_.swap.state == Task::State::Running;
        if (at_.driver.reboot_required && !is_swapping)
            return reboot();
        if (runs && !is_swapping && (at_.driver.ready || at_.swap.is_done()))
            return swapped();
        if (at_.swap.is_done())
            return fail("swap", "the swap ended, but driver " + at_.driver.running + " runs");
        if (at_.swap.has_failed())
            return fail("swap", at_.swap.text, at_.swap.is_final);
        if (is_swapping) {
            mind(policy_.swap_timeout);
            return stay(is_late(policy_.swap_timeout) ? UpgradeAct::CancelSwap : UpgradeAct::Swap,
                        at_.swap.text);
        }
        if (is_released() || !at_.granted)
            return;
        if (is_late(policy_.swap_timeout))
            return fail("swap", "the driver was not swapped within " +
                                    std::to_string(policy_.swap_timeout.count()) + " s");
        mind(policy_.swap_timeout);
        stay(UpgradeAct::Swap, "");
    }

    void swapped() {
        move_.labels = unpaused(at_.labels);
        to(ValidationRequired);
        move_.validation_began = at_.now;
    }

    /// Drains the node first, because a reboot also ends the pods without a GPU.
    void reboot() {
        UpgradeRecord& record = move_.record;
        if (!policy_.may_reboot)
            return fail("reboot", "a reboot is required: " + at_.driver.problem, true);
        if (!policy_.drain.enabled)
            return fail("reboot",
                        "a reboot is required, which the policy allows only after a drain "
                        "(drain.enable is false): " +
                            at_.driver.problem,
                        true);
        // without an answer about the grant wait; without a grant finish what was begun
        if (!at_.granted && !at_.revoked)
            return;
        if (record.boot != at_.driver.boot) {
            if (record.reboots >= most_reboots)
                return fail("reboot", "a reboot is required again after a reboot: " + at_.driver.problem,
                            true);
            ++record.reboots;
            record.boot = at_.driver.boot;
            if (!record.drained) {
                record.since = at_.now; // starts the drain's timeout
                add_event(scheduling_drain);
            }
        }
        if (!record.drained) {
            if (at_.pods.has_failed()) {
                warn(failed_drain + at_.pods.text);
                return fail("drain", at_.pods.text);
            }
            if (!at_.pods.is_done())
                return stay(UpgradeAct::Drain, "drains the node before it is rebooted" +
                                                   (at_.pods.text.empty() ? "" : ": " + at_.pods.text));
            record.drained = true;
            add_event(drained_node);
        }
        stay(UpgradeAct::Reboot, "reboots");
    }

    /// Returns when the validation fails for lack of time; nullopt: never, or not known. If the new driver is
    /// ready, only the validator pods are missing. They get some time in which they are visible: while the
    /// API server is down they cannot report.
    [[nodiscard]] std::optional<std::int64_t> validation_ends() const {
        if (policy_.validation_timeout.count() == 0)
            return std::nullopt;
        const std::int64_t ends = node_.record.since + policy_.validation_timeout.count();
        if (!at_.driver.ready || at_.driver.running != node_.record.version)
            return ends;
        if (at_.validators.state == Task::State::None)
            return std::nullopt;
        return std::max(ends, at_.validators.late_from);
    }

    void validate() {
        UpgradeRecord& record = move_.record;
        const bool passes =
            at_.driver.running == record.version && at_.driver.ready && at_.validators.is_done();
        const bool goes_back = record.failure == "validation";
        if (goes_back && (!passes || at_.swap.state == Task::State::Running))
            return roll_back();
        if (passes) {
            if (node_.was_unschedulable || !record.cordoned)
                return done();
            return to(UncordonRequired);
        }
        // While an operation may change the driver, `ready` is false although the driver is not broken: wait,
        // without the deadline below.
        if (at_.driver.changing)
            return stay(UpgradeAct::Validate, node_.reason);
        // Another version runs, for example after a reboot or another client's swap. Waiting would not change
        // that.
        if (at_.driver.ready && at_.driver.running != record.version)
            return fail("validation", "driver " + at_.driver.running + " runs again");
        const std::string why = !at_.driver.ready ? at_.driver.problem
                                : at_.driver.running != record.version
                                    ? "driver " + at_.driver.running + " runs"
                                    : at_.validators.text;
        if (const auto ends = validation_ends(); !ends || at_.now < *ends) {
            if (ends)
                mind(*ends);
            return stay(UpgradeAct::Validate, why);
        }
        record.failure = "validation";
        record.cause = why;
        roll_back();
    }

    /// Rolls back to the version that ran before. Fails if there was none.
    void roll_back() {
        const UpgradeRecord& record = move_.record;
        const std::string why = record.cause;
        if (!policy_.rollback || record.from.empty() || record.from == record.version ||
            at_.swap.has_failed())
            return fail("validation", why, true);
        if (at_.driver.running == record.from && at_.driver.ready)
            return fail("validation", why + "; version " + record.from + " runs again");
        stay(UpgradeAct::RollBack, "rolls back to version " + record.from + ", since version " +
                                       record.version + " failed its validation: " + why);
    }

    void uncordon() { done(); }

    void done() {
        const std::string version = node_.record.version.empty() ? policy_.version : node_.record.version;
        give_back_schedulability();
        to(UpgradeDone);
        move_.record = {};
        move_.record.state = UpgradeDone;
        move_.record.version = version;
        move_.record.since = at_.now;
        move_.record.away = node_.others_cordoned();
    }

    void failed() {
        if (has_desired_version() && node_.record.version != policy_.version &&
            policy_.mode != UpgradeMode::OnRequest)
            return runs_wanted() ? done() : begin(false);
        if (is_requested() && has_desired_version())
            return begin(true);
        // The upgrade failed without a driver, for example because the host went down during a swap. Now the
        // earlier driver runs again.
        if (node_.record.cordoned && at_.driver.ready && at_.driver.running == node_.record.from)
            return fail(node_.record.failure, node_.record.cause);
        if (at_.driver.running != node_.record.version || !at_.driver.ready)
            return;
        if (!at_.validators.is_done())
            return stay(UpgradeAct::Validate, node_.reason);
        if (node_.record.cordoned)
            return to(UncordonRequired);
        done();
    }

    const UpgradeInput& at_;
    const UpgradePolicy& policy_;
    const UpgradeNode& node_;
    UpgradeDecision move_;
};

} // namespace

UpgradeDecision next_decision(const UpgradeInput& situation) {
    if (situation.policy == nullptr || !situation.driver.is_known) {
        UpgradeDecision still;
        still.state = situation.node.state;
        still.record = situation.node.record;
        still.reason = situation.node.reason;
        still.was_unschedulable = situation.node.was_unschedulable;
        still.wants_grant = is_under_way(situation.node.state);
        // Withdraw `prepared`: without gpuhostd the host would not use a grant.
        if (situation.policy != nullptr && still.state == UpgradeRequired && still.record.prepared) {
            still.record.prepared = false;
            still.reason = "gpuhostd does not answer";
        }
        return still;
    }
    UpgradeDecision move = Step(situation).run();
    move.reason = shortened(std::move(move.reason), most_text);
    move.record.cause = shortened(std::move(move.record.cause), most_text);
    return move;
}

} // namespace gpuhost::cluster
