// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/pod_mover.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr Time between_tries{5'000}; ///< of one pod
constexpr Time first_wait{1'000};
constexpr Time most_wait{30'000};
constexpr std::size_t most_named = 5;
constexpr unsigned not_found = 404;
constexpr unsigned too_many = 429;

/// Hosts that wait for one budget do not ask in step.
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
    return "/api/v1/namespaces/" + percent_encoded(pod.space) + "/pods/" + percent_encoded(pod.name);
}

} // namespace

PodMover::PodMover(std::string node, Open open, Say say)
    : node_(std::move(node)), open_(std::move(open)), say_(std::move(say)), backoff_(first_wait, most_wait) {}

void PodMover::be_at(UpgradeAct act, const UpgradePolicy* policy, std::int64_t since) {
    const bool concerns = act == UpgradeAct::WaitForJobs || act == UpgradeAct::DeletePods ||
                          act == UpgradeAct::Drain || act == UpgradeAct::Validate;
    policy_ = concerns ? policy : nullptr;
    if (!concerns)
        act = UpgradeAct::None;
    if (act == act_ && since == since_)
        return;
    watch_.reset();
    pods_.clear();
    ask_at_.clear();
    in_the_way_.clear();
    listed_ = all_asked_ = false;
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
    if (watch_)
        if (const auto other = watch_->due())
            due = due ? std::min(*due, *other) : *other;
    return due;
}

void PodMover::turn() {
    if (watch_)
        watch_->turn();
    if (!due_ || now() < *due_)
        return;
    due_.reset();
    if (!watch_)
        begin();
    else
        look();
}

void PodMover::begin() {
    task_.state = Task::State::Running;
    const auto opened = open_();
    if (!opened) {
        if (is_late())
            return fail(opened.error().message);
        task_.text = opened.error().message;
        due_ = now() + backoff_.next();
        return;
    }
    api_ = *opened;
    const auto take = [this](Json&& pod) {
        PodFacts facts = pod_facts(pod);
        pods_[facts.uid] = std::move(facts);
        due_ = now();
    };
    watch_ = std::make_unique<Watch>(
        *api_, "/api/v1/pods", "fieldSelector=spec.nodeName%3D" + percent_encoded(node_),
        WatchHandlers{take,
                      [this](const std::set<std::string>& names) {
                          for (auto at = pods_.begin(); at != pods_.end();)
                              at = names.count(at->second.name) == 0 ? pods_.erase(at) : std::next(at);
                          listed_ = true;
                          due_ = now();
                      },
                      [this](Json&& pod) {
                          pods_.erase(pod_facts(pod).uid);
                          due_ = now();
                      },
                      [this](const Error& trouble) {
                          if (!trouble.message.empty())
                              task_.text = "can't see this node's pods: " + trouble.message;
                          due_ = now();
                      }});
}

bool PodMover::is_late() const {
    if (act_ != UpgradeAct::DeletePods && act_ != UpgradeAct::Drain)
        return false;
    const Seconds timeout = rules().timeout;
    return timeout.count() != 0 &&
           static_cast<std::int64_t>(base::realtime_us() / 1'000'000) >= since_ + timeout.count();
}

const PodRules& PodMover::rules() const {
    return act_ == UpgradeAct::Drain ? policy_->drain : policy_->deletion;
}

void PodMover::fail(const std::string& why) {
    task_.state = Task::State::Failed;
    task_.text = why;
    due_.reset();
}

/// What is left to do, and does what of it is due.
void PodMover::look() {
    if (policy_ == nullptr || task_.state != Task::State::Running)
        return;
    if (!listed_) {
        if (is_late())
            return fail(task_.text);
        due_ = now() + Time(1'000);
        return;
    }
    const PodChoice choice = choose_pods(pods_, act_, *policy_);
    const bool evicts = act_ == UpgradeAct::DeletePods || act_ == UpgradeAct::Drain;
    if (choice.leave.empty() && (choice.refuse.empty() || !evicts)) {
        task_.state = Task::State::Done;
        task_.text = all_asked_ ? "pods have left" : "";
        return;
    }
    // All or nothing: what can't be done whole is not begun.
    if (evicts && !choice.refuse.empty())
        return fail(list_text(choice.refuse));
    std::vector<std::string> texts;
    for (const PodFacts* pod : choice.leave) {
        const auto why = in_the_way_.find(pod->uid);
        texts.push_back(pod->text() + (pod->is_leaving            ? " (is ending)"
                                       : why != in_the_way_.end() ? " (" + why->second + ")"
                                                                  : ""));
    }
    task_.text = list_text(texts);
    if (!evicts)
        return;
    if (is_late() && !policy_->override_pdb)
        return fail("these pods have not left within " + std::to_string(rules().timeout.count()) +
                    " s: " + task_.text);
    all_asked_ = true;
    for (const PodFacts* pod : choice.leave)
        if (!pod->is_leaving || (is_late() && policy_->override_pdb))
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
    if (is_late()) { // only where the policy says that budgets have no say any more
        say_("deletes pod " + pod.text() + ": it did not leave within " +
             std::to_string(rules().timeout.count()) + " s");
        // One that ends, and has not in all that time, does not by itself.
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
            say_("pod " + text + " is asked to leave");
        return;
    }
    if (answer.retry_after)
        ask_at_[uid] = std::max(ask_at_[uid],
                                now() + with_jitter(std::chrono::duration_cast<Time>(*answer.retry_after)));
    const std::string budget = answer.status == too_many ? budget_in_the_way(answer.body) : "";
    std::string why = budget.empty() ? answer.error.message : budget;
    if (in_the_way_[uid] != why)
        say_("pod " + text + " does not leave: " + why);
    in_the_way_[uid] = std::move(why);
}

} // namespace gpuhost::cluster
