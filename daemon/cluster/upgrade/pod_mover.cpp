// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/pod_mover.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/kube_time.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Error;
using base::Json;

namespace {

constexpr Time between_tries{5'000}; ///< between two requests about the same pod
constexpr Time first_wait{1'000};
constexpr Time most_wait{30'000};
constexpr std::size_t most_named = 5;
/// How long a DaemonSet may need to create its validator after the node gets its label back.
constexpr Seconds validators_come{30};
constexpr Seconds operands_come{300}; ///< the same, if other GPU Operator operands run on the node
constexpr Seconds after_grace{30};    ///< time from the end of the grace period until a pod counts as stuck
/// How long pods must be visible after an outage of the API server, before a validation can be late.
constexpr Seconds pods_settle{60};
constexpr std::int64_t blind = std::numeric_limits<std::int64_t>::max();
constexpr unsigned not_found = 404;
constexpr unsigned too_many = 429;

/// Adds jitter, so that hosts that wait for the same disruption budget do not send requests at the same time.
Time with_jitter(Time wait) {
    static std::minstd_rand random{std::random_device{}()};
    return wait + Time(std::uniform_int_distribution<Time::rep>(0, wait.count() / 2)(random));
}

std::string list_text(const std::vector<std::string>& all) {
    std::vector<std::string> some(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most_named)));
    std::string text = base::join(some, ", ");
    if (all.size() > some.size())
        text += " and " + std::to_string(all.size() - some.size()) + " more";
    return text;
}

std::string pod_path(const PodFacts& pod) {
    return "/api/v1/namespaces/" + base::percent_encoded(pod.space) + "/pods/" +
           base::percent_encoded(pod.name);
}

} // namespace

PodMover::PodMover(std::string node, Open open, std::function<void()> query, LogLine log_line)
    : node_(std::move(node)), open_(std::move(open)), log_(std::move(log_line)),
      users_(
          std::move(query), [this] { due_ = now(); }, log_),
      backoff_(first_wait, most_wait) {}

void PodMover::be_at(UpgradeAct act, const UpgradePolicy* policy, std::int64_t since) {
    const bool concerns = act == UpgradeAct::WaitForJobs || act == UpgradeAct::DeletePods ||
                          act == UpgradeAct::Drain || act == UpgradeAct::Validate;
    policy_ = concerns && policy != nullptr ? std::optional(*policy) : std::nullopt;
    if (!concerns)
        act = UpgradeAct::None;
    if (act == act_ && since == since_)
        return;
    watch_.reset();
    users_.end();
    pods_.clear();
    ask_at_.clear();
    in_the_way_.clear();
    last_error_.clear();
    reopen_at_.reset();
    listed_ = all_asked_ = validator_seen_ = false;
    due_.reset();
    task_ = {};
    act_ = act;
    since_ = since;
    if (act != UpgradeAct::None)
        begin();
}

Task PodMover::task(UpgradeAct act) const {
    return act == act_ ? task_ : Task();
}

std::optional<Time> PodMover::due() const {
    std::optional<Time> due = due_;
    for (const auto& other : {watch_ ? watch_->due() : std::nullopt, users_.due(), reopen_at_})
        if (other)
            due = due ? std::min(*due, *other) : *other;
    return due;
}

void PodMover::turn() {
    if (watch_)
        watch_->turn();
    users_.turn();
    if (reopen_at_ && now() >= *reopen_at_)
        begin();
    if (!due_ || now() < *due_)
        return;
    due_.reset();
    query();
}

/// Opens the credentials again and starts to watch. Credentials that were valid may have expired: the kubelet
/// renews its own, and jobs run for weeks.
void PodMover::begin() {
    watch_.reset(); // before open_(), which may destroy the Api that the watch uses
    users_.end();
    reopen_at_.reset();
    due_.reset();
    listed_ = false;
    task_.state = Task::State::Running;
    task_.late_from = blind;
    const auto opened = open_();
    if (!opened) {
        // Busy: gpuhostd was asked for the credentials and will answer.
        const bool is_asked = opened.error().code == Errc::Busy;
        if (!is_asked || last_error_.empty())
            task_.text = opened.error().message;
        reopen_at_ = now() + backoff_.next();
        if (is_asked)
            return;
        task_.late_from = 0;
        if (is_over())
            fail(task_.text);
        return;
    }
    api_ = *opened;
    users_.begin(*api_);
    watch_ = std::make_unique<Watch>(
        *api_, "/api/v1/pods", "fieldSelector=spec.nodeName%3D" + base::percent_encoded(node_),
        WatchHandlers{[this](Json&& pod) { handle(pod_facts(pod)); },
                      [this](const std::set<std::string>& names) { keep(names); },
                      [this](Json&& pod) {
                          pods_.erase(pod_facts(pod).uid);
                          due_ = now();
                      },
                      [this](const Error& trouble) { note(trouble); }});
}

void PodMover::handle(PodFacts&& pod) {
    validator_seen_ = validator_seen_ || pod.is_validator;
    // Removes an earlier pod of the same name, if the watch missed its deletion.
    std::erase_if(pods_, [&](const auto& other) {
        return other.second.text() == pod.text() && other.first != pod.uid;
    });
    pods_[pod.uid] = std::move(pod);
    due_ = now();
}

void PodMover::keep(const std::set<std::string>& names) {
    std::erase_if(pods_, [&](const auto& pod) { return names.count(pod.second.text()) == 0; });
    listed_ = true;
    see_pods();
    due_ = now();
}

void PodMover::see_pods() {
    if (task_.late_from == blind && policy_)
        task_.late_from = unix_now() + std::min(policy_->validation_timeout, pods_settle).count();
}

/// Opens the credentials again after any error that lasts, because servers and proxies do not reliably report
/// that credentials are invalid.
void PodMover::note(const Error& trouble) {
    last_error_ = trouble.message;
    if (!last_error_.empty())
        task_.late_from = trouble.code == Errc::AccessDenied ? 0 : blind;
    else if (listed_)
        see_pods();
    if (last_error_.empty()) {
        backoff_.reset();
        reopen_at_.reset();
    } else if (!reopen_at_ && task_.state == Task::State::Running) {
        reopen_at_ = now() + backoff_.next();
    }
    due_ = now();
}

void PodMover::reopen() {
    if (!watch_ && task_.state == Task::State::Running)
        reopen_at_ = now();
}

bool PodMover::is_late() const {
    if (act_ != UpgradeAct::DeletePods && act_ != UpgradeAct::Drain)
        return false;
    const Seconds timeout = rules().timeout;
    return timeout.count() != 0 && unix_now() >= since_ + timeout.count();
}

/// Returns the time after since_ in which pods must leave. If the policy overrides budgets, a terminating pod
/// gets its grace period.
Seconds PodMover::patience() const {
    if (!policy_->override_pdb)
        return rules().timeout;
    Seconds most = 2 * rules().timeout;
    for (const PodFacts* pod : choose_pods(pods_, act_, *policy_).leave)
        if (pod->is_leaving)
            most = std::max(most, Seconds(pod->grace_ends - since_) + 2 * after_grace);
    return most;
}

/// Returns true if the time for pods to leave is over. If the policy overrides budgets, this is later than
/// is_late().
bool PodMover::is_over() const {
    return is_late() && unix_now() >= since_ + patience().count();
}

const PodRules& PodMover::rules() const {
    return act_ == UpgradeAct::Drain ? policy_->drain : policy_->deletion;
}

void PodMover::fail(const std::string& why) {
    task_.state = Task::State::Failed;
    task_.text = why;
    due_.reset();
    reopen_at_.reset();
}

/// Returns true for a validator that started before the new driver, and so validated the old one.
bool PodMover::is_outdated(const PodFacts& pod) const {
    return pod.started != 0 && pod.started < since_;
}

void PodMover::end_outdated_validators() {
    for (const auto& [uid, pod] : pods_)
        if (pod.is_validator && pod.is_active && !pod.is_leaving && is_outdated(pod))
            ask(pod);
}

/// Returns true if no current validator runs here and its DaemonSet may still create one.
bool PodMover::is_validator_due() const {
    const bool is_here = std::any_of(pods_.begin(), pods_.end(), [this](const auto& one) {
        const PodFacts& pod = one.second;
        return pod.is_validator && pod.is_active && !pod.is_leaving && !is_outdated(pod);
    });
    if (is_here || validator_seen_)
        return !is_here;
    const bool has_operands = std::any_of(pods_.begin(), pods_.end(), [](const auto& one) {
        return one.second.is_operand && one.second.is_active;
    });
    const Seconds half = policy_->validation_timeout / 2;
    const Seconds usual = has_operands ? operands_come : validators_come;
    return unix_now() < since_ + (half.count() == 0 ? usual : std::min(usual, half)).count();
}

/// Returns what must be known before pods are chosen, as text; nullopt: all is known.
std::optional<std::string> PodMover::awaited() {
    if (!last_error_.empty())
        return "can't watch this node's pods: " + last_error_;
    if (!listed_)
        return task_.text;
    if (act_ != UpgradeAct::Validate) {
        if (const std::string what = users_.mark(pods_); !what.empty())
            return "not known yet: " + what;
    } else {
        end_outdated_validators();
        if (is_validator_due())
            return "no pod of nvidia-operator-validator is on this node yet";
    }
    return std::nullopt;
}

/// Waits, with `why` as the text of the task. Fails if the time is over while an error persists. Without an
/// error, a list or a search is in progress and will end.
void PodMover::wait(std::string why) {
    task_.text = std::move(why);
    const bool is_hindered = !last_error_.empty() || !users_.trouble().empty();
    if (is_hindered && is_over())
        return fail(task_.text);
    due_ = now() + Time(1'000);
}

/// Determines which pods are left, and requests the evictions that are due.
void PodMover::query() {
    if (!policy_ || task_.state != Task::State::Running)
        return;
    if (const auto first = awaited())
        return wait(*first);
    const PodChoice choice = choose_pods(pods_, act_, *policy_);
    // A pod in `refuse` would keep the task from completing, so evict no pod while there is one.
    if (!choice.refuse.empty())
        return fail(list_text(choice.refuse));
    if (choice.leave.empty()) {
        // A process of another pod may have started to use the driver meanwhile.
        if (act_ == UpgradeAct::DeletePods && !users_.confirm())
            return wait("pods have ended; not known yet: which processes use the driver now" +
                        (users_.trouble().empty() ? "" : ": " + users_.trouble()));
        task_.state = Task::State::Done;
        task_.text = all_asked_ ? "pods have ended" : "";
        return;
    }
    std::vector<std::string> texts;
    for (const PodFacts* pod : choice.leave) {
        const auto why = in_the_way_.find(pod->uid);
        texts.push_back(pod->text() + (pod->is_leaving            ? " (terminating)"
                                       : why != in_the_way_.end() ? " (" + why->second + ")"
                                                                  : ""));
    }
    task_.text = list_text(texts);
    if (act_ != UpgradeAct::DeletePods && act_ != UpgradeAct::Drain)
        return;
    if (is_over())
        return fail("these pods did not end within " + std::to_string(patience().count()) +
                    " s: " + task_.text);
    all_asked_ = true;
    users_.outdate();
    for (const PodFacts* pod : choice.leave)
        if (!pod->is_leaving || (is_late() && unix_now() >= pod->grace_ends + after_grace.count()))
            ask(*pod);
    due_ = now() + Time(1'000);
}

void PodMover::ask(const PodFacts& pod) {
    Time& at = ask_at_[pod.uid];
    if (now() < at)
        return;
    at = now() + with_jitter(between_tries);
    const auto done = [this, uid = pod.uid, text = pod.text()](ApiAnswer&& answer) {
        answered(uid, text, std::move(answer));
    };
    const Json preconditions = {{"preconditions", {{"uid", pod.uid}}}};
    // Delete the pod without the Eviction API. Only a policy that overrides budgets allows this.
    if (is_late()) {
        log_("deletes pod " + pod.text() + ": not evicted within " + std::to_string(rules().timeout.count()) +
             " s");
        // A pod that remains after its grace period is stuck: delete it with a grace period of 0.
        (void)api_->remove(pod_path(pod), {{"metadata", {{"uid", pod.uid}}}}, done,
                           pod.is_leaving ? Json{{"gracePeriodSeconds", 0}} : Json::object());
        return;
    }
    (void)api_->create(pod_path(pod) + "/eviction",
                       {{"apiVersion", "policy/v1"},
                        {"kind", "Eviction"},
                        {"metadata", {{"name", pod.name}, {"namespace", pod.space}}},
                        {"deleteOptions", preconditions}},
                       done);
}

void PodMover::answered(const std::string& uid, const std::string& text, ApiAnswer&& answer) {
    if (answer.done() || answer.status == not_found) {
        in_the_way_.erase(uid);
        if (answer.done())
            log_("pod " + text + " is being removed");
        return;
    }
    if (answer.retry_after)
        ask_at_[uid] = std::max(ask_at_[uid],
                                now() + with_jitter(std::chrono::duration_cast<Time>(*answer.retry_after)));
    const std::string budget = answer.status == too_many ? budget_in_the_way(answer.body) : "";
    std::string why = budget.empty() ? answer.error.message : budget;
    if (in_the_way_[uid] != why)
        log_("pod " + text + " is not removed: " + why);
    in_the_way_[uid] = std::move(why);
}

} // namespace gpuhost::cluster
