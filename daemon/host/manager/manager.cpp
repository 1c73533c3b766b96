// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/manager/manager.hpp"

#include "config.h"
#include "daemon/base/clock.hpp"
#include "daemon/base/messages.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/host/manager/kubelet_files.hpp"
#include "daemon/host/notify.hpp"

#include <algorithm>

namespace gpuhost::host {

namespace {

namespace log = base::log;
using base::Errc;
using base::Error;
using base::Json;
using base::Result;

Error problems_error(const std::vector<core::Problem>& problems) {
    if (problems.size() == 1)
        return {problems[0].code, problems[0].text, problems[0].hint};
    std::vector<std::string> texts;
    std::vector<std::string> hints;
    for (const auto& problem : problems) {
        texts.push_back(problem.text);
        if (!problem.hint.empty())
            hints.push_back(problem.hint);
    }
    return {Errc::Refused, base::join(texts, "; "), base::join(hints, " ")};
}

void append(core::Plan& all, core::Plan one) {
    std::move(one.steps.begin(), one.steps.end(), std::back_inserter(all.steps));
    std::move(one.reasons.begin(), one.reasons.end(), std::back_inserter(all.reasons));
    std::move(one.problems.begin(), one.problems.end(), std::back_inserter(all.problems));
    if (one.undecided)
        all.undecided = std::move(one.undecided);
    if (one.driver)
        all.driver = std::move(one.driver);
    all.creates_devices = all.creates_devices || one.creates_devices;
}

core::Subject itself() {
    core::Subject subject;
    subject.uid = ::geteuid();
    subject.pid = ::getpid();
    subject.command = "gpuhostd";
    subject.allowed_by = "daemon";
    return subject;
}

core::Plan everything(const std::vector<std::string>& only = {}) {
    core::Plan plan;
    plan.kind = "apply";
    plan.title = "apply the configuration" + (only.empty() ? "" : " of " + base::join(only, ", "));
    return plan;
}

} // namespace

Manager::Manager(Event& event, const base::Root& root, Runner& runner, Components components, Keys keys,
                 std::string kernel)
    : event_(event), root_(root), runner_(runner), components_(std::move(components)), keys_(std::move(keys)),
      kernel_(std::move(kernel)), cluster_(root), history_(root), settings_(keys_) {
    runner_.listen({[this](const Operation& operation) {
                        if (listener_.added)
                            listener_.added(operation);
                        notify::status(title(operation));
                        if (changed_)
                            changed_();
                    },
                    [this](const Operation& operation) {
                        if (listener_.changed)
                            listener_.changed(operation);
                    },
                    [this](const Operation& operation) { operation_ended(operation); },
                    [this](const Operation& operation) {
                        history_.keep(operation);
                        if (listener_.removed)
                            listener_.removed(operation);
                    }});
}

Result<void> Manager::start(Mode mode) {
    mode_ = mode;
    load_settings();
    GPUHOST_CHECK(mode == Mode::ReadOnly ? runner_.inspect() : runner_.resume());
    started_ = true;
    reevaluate();
    return {};
}

void Manager::load_settings() {
    cluster_.load();
    config_read_us_ = base::realtime_us();
    // A rejected value does not reset its key. At start, the key keeps the value that the files set before
    // the rejected one. Later, the key keeps the value in effect.
    auto loaded =
        started_ ? core::reload_settings(root_, keys_, settings_) : core::load_settings(root_, keys_);
    problems_.clear();
    for (const core::SettingsProblem& problem : loaded.problems) {
        problems_.push_back(core::to_string(problem));
        log::event(log::Level::Warning, base::message::config_problem, {}, problems_.back());
    }
    settings_ = std::move(loaded.settings);
    seen_.clear();
    runner_.set_settings(settings_.to_json());
}

Result<Json> Manager::kubelet_files() const {
    if (settings_.string("Cluster", "EvictAs") == "own")
        return base::fail(Errc::Refused, "the kubelet's credentials are not lent with EvictAs=own",
                          "Correct section [Cluster], then run: gpuhostctl reload.");
    return read_kubelet_files(root_, settings_.words("Cluster", "KubeletFiles"));
}

std::vector<std::string> Manager::reload() {
    notify::reloading();
    load_settings();
    reevaluate();
    notify::ready(state());
    return problems_;
}

Result<std::uint64_t> Manager::set_desired_state(const core::ClusterDesired& desired, core::Subject subject) {
    if (const Operation* const running = runner_.running())
        return base::fail(Errc::Busy, "operation " + std::to_string(running->id) + " runs",
                          "Try again after it ends.");
    const auto wanted_toolkit = [this] {
        const auto observed = observe("toolkit");
        return observed ? base::member(*observed, "wanted") : Json();
    };
    const Json before = wanted_toolkit();
    GPUHOST_TRY(is_another, cluster_.keep(desired));
    if (is_another)
        load_settings();
    reevaluate();
    // Applies automatically only what the cluster's desired state changed. Changes in the administrator's
    // files wait for 'gpuhostctl apply'.
    const Json after = wanted_toolkit();
    if (after == before && !base::bool_or(after, "from_cluster", false))
        return 0;
    auto wanted = plan(Json::object(), "toolkit runtime");
    if (!wanted || !wanted->problems.empty() || wanted->steps.empty())
        return 0;
    return runner_.start(*std::move(wanted), std::move(subject), {});
}

void Manager::withdraw_cluster_driver() {
    cluster_.withdraw_driver();
    if (changed_)
        changed_();
}

Result<void> Manager::request_upgrade(const std::string& version) {
    GPUHOST_CHECK(cluster_.request_upgrade(version));
    if (changed_)
        changed_();
    return {};
}

bool Manager::wants_to_converge(const core::Component& component, const core::Observation& observed) const {
    return component.converge_at_start(observed) ||
           std::any_of(interrupted_.begin(), interrupted_.end(),
                       [&](const core::Step& step) { return component.converge_after(step, observed); });
}

const Result<core::Observation>& Manager::observe(core::Component& component) {
    if (const auto turn = event_.turn(); !turn || turn != seen_in_turn_) {
        seen_.clear();
        seen_in_turn_ = turn;
    }
    const auto found = seen_.find(&component);
    return found != seen_.end() ? found->second
                                : seen_.emplace(&component, component.observe(settings_)).first->second;
}

/// Starts an operation that must end before convergence. For example, it builds modules for a kernel that was
/// installed after the last boot. Returns false if no component needs such an operation. converge() runs
/// again when the operation has ended, even if it failed.
bool Manager::begin_preparation() {
    for (const auto& component : components_) {
        const Result<core::Observation>& observed = observe(*component);
        if (!observed || !wants_to_converge(*component, *observed))
            continue;
        auto plan = component->before_converging(settings_, *observed);
        if (!plan || plan->steps.empty() || !plan->problems.empty())
            continue;
        if (runner_.start(*std::move(plan), itself(), {}))
            return true;
    }
    return false;
}

/// Applies the plans of all components that must converge at start. Does so once, after interrupted
/// operations have ended, and again after an operation that a client requested has failed. The host counts as
/// ready afterwards, even if the operation fails: only a person can do more.
void Manager::converge() {
    if (mode_ != Mode::Live || (converged_ && !failed_) || runner_.running())
        return;
    const bool failed = std::exchange(failed_, false);
    if (!std::exchange(prepared_, true) && begin_preparation())
        return;
    converged_ = true;
    core::Plan all = everything();
    for (const auto& component : components_) {
        const Result<core::Observation>& observed = observe(*component);
        if (!observed) {
            log::warning("can't observe the " + std::string(component->name()) + ": " +
                         observed.error().message + ", ignoring");
            continue;
        }
        if (!wants_to_converge(*component, *observed))
            continue;
        // A component whose plan has problems needs a person. The other components converge without it.
        auto one = component->plan(
            {settings_, Json::object(), true, all.driver.has_value(), false, all.creates_devices}, *observed);
        if (failed && one.driver)
            continue; // an operation just failed: only a person may change the driver now
        if (one.problems.empty())
            append(all, std::move(one));
        else
            log::warning("can't converge the " + std::string(component->name()) +
                         " automatically: " + problems_error(one.problems).message);
    }
    if (!all.steps.empty())
        if (auto begun = runner_.start(std::move(all), itself(), {}); !begun)
            log::error("can't converge: " + begun.error().message);
}

void Manager::operation_ended(const Operation& operation) {
    if (listener_.ended)
        listener_.ended(operation);
    const core::Transaction& transaction = operation.transaction;
    // The outcome RebootRequired remains until the reboot, so the operation's steps are not repeated.
    const bool is_stuck = transaction.outcome() == core::Outcome::RebootRequired;
    // An incomplete operation may leave something that converge() repairs. If the daemon itself started the
    // operation, it is not repeated.
    failed_ = transaction.outcome() == core::Outcome::Incomplete && origin(transaction.subject()) != "daemon";
    for (std::size_t i = 0; i < transaction.states().size() && operation.of_earlier_boot && !is_stuck; ++i)
        if (transaction.states()[i] != core::StepState::Pending)
            interrupted_.push_back(transaction.plan().steps[i]);
    // reevaluate() runs in the next iteration of the event loop, because Runner::finish() calls
    // operation_ended() before it resumes the next interrupted operation.
    if (auto later = event_.soon([this] { reevaluate(); }))
        later_ = *std::move(later);
}

/// Converges if necessary, marks the host as ready after the first convergence, and publishes the new state.
void Manager::reevaluate() {
    converge();
    if (converged_ && !ready_ && !runner_.running()) {
        ready_ = true;
        log::event(log::Level::Info, base::message::host_ready, {}, "the host is ready, runtimes may start");
    }
    degraded_ = !is_as_wanted();
    notify::status(runner_.running() ? title(*runner_.running()) : std::string(state()));
    if (changed_)
        changed_();
}

bool Manager::is_as_wanted() {
    const auto all = plan(Json::object());
    return all && all->steps.empty() && all->problems.empty() && !all->undecided;
}

std::string_view Manager::state() const {
    if (!started_)
        return "starting";
    if (runner_.running())
        return "busy";
    if (runner_.reboot_required())
        return "reboot-required";
    return degraded_ ? "degraded" : "idle";
}

// --- requests

Result<core::Plan> Manager::plan(const Json& request, std::string_view only) {
    auto names = base::split_words(only);
    const bool is_one = !request.empty() || names.size() == 1;
    core::Plan all = everything(names);
    std::vector<std::string> missing = names;
    for (const auto& component : components_) {
        const std::string name(component->name());
        const bool asked = request.contains(name) || std::erase(missing, name) != 0;
        if ((!request.empty() || !names.empty()) && !asked)
            continue;
        const Result<core::Observation>& observed = observe(*component);
        if (!observed) {
            const Error error = observed.error().context("observing the " + std::string(component->name()));
            if (is_one)
                return base::fail(error);
            all.problems.push_back({error.code, error.message, error.hint});
            continue;
        }
        auto one = component->plan({settings_, request, is_one, all.driver.has_value(),
                                    is_one && request.empty(), all.creates_devices},
                                   *observed);
        if (is_one)
            return one;
        append(all, std::move(one));
    }
    if (!missing.empty())
        return base::fail(Errc::NotFound, "component '" + missing.front() + "': not found",
                          "Run 'gpuhostctl status --json' for the list of components.");
    if (!request.empty())
        return base::fail(Errc::InvalidArgument, "no component accepts this request");
    return all;
}

Result<std::uint64_t> Manager::apply(const Json& request, core::Subject subject,
                                     std::vector<base::UniqueFd> inputs, bool check_only,
                                     std::string_view only) {
    GPUHOST_TRY(wanted, plan(request, only));
    if (!wanted.problems.empty())
        return base::fail(problems_error(wanted.problems));
    if (wanted.steps.empty())
        return 0;
    if (check_only)
        wanted.title = "check: " + wanted.title;
    return runner_.start(std::move(wanted), std::move(subject), std::move(inputs), check_only);
}

Result<Json> Manager::observe(std::string_view component) {
    for (const auto& candidate : components_)
        if (candidate->name() == component) {
            const Result<core::Observation>& observed = observe(*candidate);
            if (!observed)
                return base::fail(observed.error().context("observing the " + std::string(component)));
            return candidate->document(*observed);
        }
    return base::fail(Errc::NotFound, "component '" + std::string(component) + "': not found");
}

Json Manager::describe() {
    Json components = Json::object();
    for (const auto& component : components_) {
        Json& entry = components[std::string(component->name())];
        const Result<core::Observation>& observed = observe(*component);
        if (!observed) {
            entry["error"] = base::to_json(observed.error());
            continue;
        }
        entry["observed"] = component->document(*observed);
        entry["plan"] = core::to_json(component->plan({settings_, Json::object()}, *observed));
    }
    const Operation* running = runner_.running();
    return {{"version", PACKAGE_VERSION},
            {"kernel", kernel_},
            {"state", state()},
            {"ready", ready_},
            {"config_problems", problems_},
            {"config_read_us", config_read_us_},
            {"cluster", cluster_.document()},
            {"operation", running ? Json(running->id) : Json()},
            {"components", std::move(components)}};
}

Json Manager::driver_history() const {
    return history_.document(runner_.operations(), runner_.boot_id());
}

} // namespace gpuhost::host
