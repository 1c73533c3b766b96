// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/host.hpp"

#include "daemon/base/log.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/cluster/node/readiness.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <unistd.h>

namespace gpuhost {

using base::Errc;
using base::Json;
using base::member;
using base::Result;
using base::string_or;
using cluster::Task;
using cluster::Time;
using cluster::UpgradeAct;

namespace {

constexpr Time between_checks{300'000}; ///< after a failed check; earlier if the store of drivers changes
constexpr Time between_tries{15'000};   ///< between two attempts while gpuhostd is busy or does not answer
constexpr std::uint64_t holders_leave_us = 120'000'000;
constexpr std::int64_t second_us = 1'000'000;
/// Prefixes of the kinds of operations that leave the running driver unchanged.
constexpr std::array<std::string_view, 9> keep_driver{"bundle.",      "images.",       "image.",
                                                      "toolkit.",     "runtime.",      "driver.import",
                                                      "driver.build", "driver.verify", "driver.clean"};
/// How long a copy of the kubelet's credentials is used. The kubelet replaces its credentials from time to
/// time.
constexpr Time lent_for{30'000};

/// The requests that move pods, as the API server names them.
struct EvictRight {
    const char* verb;
    const char* subresource;
    std::string_view words;
    bool overrides = false; ///< needed only if the policy overrides budgets
};
constexpr std::array evict_rights{EvictRight{"create", "eviction", "evict"}, EvictRight{"list", "", "list"},
                                  EvictRight{"watch", "", "watch"}, EvictRight{"delete", "", "delete", true}};

bool is_in_use(const Json& problem) {
    return string_or(problem, "code", "") == "in-use";
}

/// Returns the problems that block a swap. Omits pods that use the driver, because these leave before the
/// swap.
std::string lasting_problems(const Json& problems) {
    std::vector<std::string> texts;
    if (problems.is_array())
        for (const Json& problem : problems)
            if (!is_in_use(problem)) {
                const std::string hint = string_or(problem, "hint", "");
                texts.push_back(string_or(problem, "text", "") + (hint.empty() ? "" : ". " + hint));
            }
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : base::ends_with(all, ".") ? " " : "; ") + text;
    return all;
}

std::string text_of(const Json& error) {
    const std::string hint = string_or(error, "hint", "");
    return string_or(error, "message", "it failed") + (hint.empty() ? "" : ". " + hint);
}

/// Returns true if the error says nothing about the version: gpuhostd is busy, or the call timed out and may
/// have had an effect.
bool is_silent(const base::Error& error) {
    return error.code == Errc::Busy || error.code == Errc::Timeout;
}

const base::Result<Json>* described(const DaemonState& state, std::uint64_t id) {
    const auto found = state.descriptions.find(id);
    return found == state.descriptions.end() ? nullptr : &found->second;
}

/// `state` is from an operation's row or from its description; both use the same names of states.
bool is_running(const std::string& state) {
    return state == "running" || state == "undoing";
}

/// Returns the version that a swap of this program changes to; empty for a swap of another user. Compares
/// users, because an earlier run of this program may have requested the swap.
std::string own_version(const Json& operation) {
    const bool own = base::int_or(member(operation, "subject"), "uid", -1) == std::int64_t{::geteuid()};
    return own ? string_or(member(operation, "driver"), "to", "") : "";
}

bool is_swap(const std::string& kind) {
    return kind == "driver.swap" || kind == "driver.rollback";
}

} // namespace

ClusterHost::ClusterHost(client::AsyncClient& daemon, const base::Root& root, std::string node,
                         LogLine log_line, cluster::Api* own)
    : daemon_(daemon), root_(root), node_(std::move(node)), log_(std::move(log_line)), own_(own),
      mover_(
          node_, [this] { return own_ != nullptr ? Result<cluster::Api*>(own_) : open_kubelet(); },
          [this] { query_holders(); }, [this](const std::string& line) { log_(line); }) {}

void ClusterHost::see(const DaemonState& state) {
    if (check_id_ != 0)
        follow_check(described(state, check_id_));
    if (!swap_asks_)
        asked_swap_ = {}; // if the call had an effect, `state` contains the operation
    follow_swap(state);
    see_host(state);
}

/// Returns true if the operation runs and its kind may change the driver. The description of the operation,
/// if there is one, is newer than the operation's row.
bool ClusterHost::changes_driver(const client::OperationRow& operation, Described description) const {
    const bool has_ended =
        description != nullptr && *description && !is_running(string_or(**description, "state", ""));
    if (!is_running(operation.state) || has_ended || dry_runs_.count(operation.id) != 0)
        return false;
    return std::none_of(keep_driver.begin(), keep_driver.end(),
                        [&](std::string_view kind) { return base::starts_with(operation.kind, kind); });
}

void ClusterHost::see_host(const DaemonState& state) {
    const Json& host = *state.host;
    const Json& observed = member(member(member(host, "components"), "driver"), "observed");
    const cluster::Condition ready = cluster::driver_condition_of(host);
    driver_.is_known = string_or(host, "state", "starting") != "starting";
    driver_.has_gpus = cluster::readiness_of(host).gpus.value_or(0) > 0;
    driver_.changing =
        std::any_of(state.operations.begin(), state.operations.end(), [&](const client::OperationRow& row) {
            return changes_driver(row, described(state, row.id));
        });
    driver_.running = string_or(observed, "loaded_version", "");
    driver_.ready = ready.status == "True" && !driver_.changing;
    driver_.problem = driver_.changing ? "an operation is running" : ready.message;
    driver_.pinned = string_or(observed, "configured", "");
    driver_.requested = string_or(member(host, "cluster"), "upgrade_requested", "");
    driver_.reboot_required = string_or(host, "state", "") == "reboot-required";
    if (driver_.boot.empty())
        driver_.boot = root_.read_line("/proc/sys/kernel/random/boot_id").value_or("");
    // The store has changed, so it may contain the version now: check again.
    if (std::string store = base::dump(member(observed, "store"));
        std::exchange(store_, store) != store && check_.has_failed())
        check_again_ = cluster::now();
}

cluster::HostDriver ClusterHost::driver() const {
    cluster::HostDriver driver = driver_;
    for (const Swap* swap : {&asked_swap_, &swap_})
        driver.swaps = driver.swaps || swap->task.state == Task::State::Running;
    return driver;
}

void ClusterHost::lose() {
    driver_.is_known = false;
    check_ = {};
    check_id_ = 0;
    check_asks_ = false;
    check_again_.reset();
    ++check_number_;
    dry_runs_.clear();
    ++query_number_;
    mover_.found(base::fail(Errc::Busy, "gpuhostd is not running")); // ignored unless a search is pending
}

// Operations of the daemon

std::optional<std::uint64_t> ClusterHost::wants(const DaemonState& state) const {
    if (check_id_ != 0 && described(state, check_id_) == nullptr)
        return check_id_;
    // Find the newest swap that is not a dry run. Only the description of an operation shows whether it is a
    // dry run.
    for (auto row = state.operations.rbegin(); row != state.operations.rend(); ++row) {
        if (!is_swap(row->kind) || dry_runs_.count(row->id) != 0)
            continue;
        if (row->id == swap_.id && swap_.task.state != Task::State::Running)
            return std::nullopt;
        const auto* const operation = described(state, row->id);
        if (operation == nullptr)
            return row->id;
        if (!*operation || !base::bool_or(**operation, "dry_run", false))
            return std::nullopt;
    }
    return std::nullopt;
}

void ClusterHost::follow_swap(const DaemonState& state) {
    if (!state.operations.empty())
        dry_runs_.erase(dry_runs_.begin(), dry_runs_.lower_bound(state.operations.front().id));
    for (auto row = state.operations.rbegin(); row != state.operations.rend(); ++row) {
        if (!is_swap(row->kind) || dry_runs_.count(row->id) != 0)
            continue;
        const auto* const described_now = described(state, row->id);
        if (described_now == nullptr || !*described_now)
            return;
        const Json& operation = **described_now;
        if (base::bool_or(operation, "dry_run", false)) {
            dry_runs_.insert(row->id);
            continue;
        }
        if (row->id == swap_.id && swap_.task.state != Task::State::Running)
            return;
        const std::string phase = string_or(operation, "state", "");
        const Json& error = member(operation, "error");
        if (std::exchange(swap_.id, row->id) != row->id)
            swap_.version = own_version(operation);
        swap_.began = static_cast<std::int64_t>(row->began_us) / second_us;
        if (is_running(phase)) {
            swap_.task = {Task::State::Running, string_or(operation, "text", ""), false};
        } else if (phase == "committed" || phase == "reboot-required") {
            swap_.task = {Task::State::Done, "", false};
        } else {
            const std::string problems = lasting_problems(member(operation, "problems"));
            swap_.task = {Task::State::Failed, problems.empty() ? text_of(error) : problems,
                          !problems.empty()};
        }
        return;
    }
}

Task ClusterHost::swap(const std::string& version, std::int64_t since) const {
    for (const Swap* swap : {&asked_swap_, &swap_})
        if (swap->task.state != Task::State::None && swap->began >= since && swap->version == version &&
            !version.empty())
            return swap->task;
    return {};
}

void ClusterHost::begin_swap(const std::string& version, const cluster::UpgradePolicy* policy,
                             std::int64_t since) {
    if (swap_asks_ || swap(version, since).state != Task::State::None ||
        (swap_again_ && cluster::now() < *swap_again_))
        return;
    std::uint64_t patience = holders_leave_us;
    if (policy != nullptr && policy->swap_timeout.count() > 0)
        patience = std::min<std::uint64_t>(
            patience, static_cast<std::uint64_t>(policy->swap_timeout.count()) * second_us / 2);
    swap_asks_ = true;
    asked_swap_ = {0, version, since, {Task::State::Running, "", false}};
    swap_again_ = cluster::now() + between_tries;
    daemon_.start(client::driver_call("Swap", {version}),
                  {{"holders", std::string("wait")}, {"holder-timeout-usec", patience}},
                  [this, version, since](const Result<std::uint64_t>& started) {
                      swap_answered(started, version, since);
                  });
}

void ClusterHost::swap_answered(const Result<std::uint64_t>& started, const std::string& version,
                                std::int64_t since) {
    swap_asks_ = false;
    swap_again_ = cluster::now() + between_tries;
    if (started || started.error().code != Errc::Timeout)
        asked_swap_ = {};
    if (!started) {
        log_("can't swap the driver to version " + version + ": " + started.error().message);
        if (!is_silent(started.error()))
            swap_ = {
                ~std::uint64_t{0}, version, since, {Task::State::Failed, started.error().message, false}};
        return;
    }
    log_("swaps the driver to version " + version);
    swap_ = {*started,
             version,
             static_cast<std::int64_t>(base::realtime_us()) / second_us,
             {Task::State::Running, "", false}};
}

// The check whether a version can be swapped to

Task ClusterHost::check(const std::string& version) const {
    return version == check_version_ ? check_ : Task();
}

void ClusterHost::begin_check(const std::string& version, const cluster::UpgradePolicy* policy) {
    const bool again = version == check_version_;
    const bool is_under_way = check_asks_ || check_id_ != 0;
    const bool waits = check_again_ && cluster::now() < *check_again_;
    if (again && (is_under_way || waits || check_.is_done()))
        return;
    check_version_ = version;
    check_again_ = cluster::now() + between_checks;
    check_id_ = 0;
    ++check_number_;
    check_asks_ = true;
    // While a check is repeated, the previous result is valid.
    if (!again)
        check_ = {Task::State::Running, "", false};
    const bool minds_pods =
        policy != nullptr && (!policy->wait_for.empty() || policy->deletion.enabled || policy->drain.enabled);
    if (!minds_pods)
        return plan_check();
    check_rights(policy->override_pdb, [this, number = check_number_](const Result<void>& able) {
        if (number != check_number_)
            return;
        if (!able) {
            check_failed({able.error().code, "can't move pods: " + able.error().message, ""});
            check_again_ = cluster::now() + between_tries;
            return;
        }
        plan_check();
    });
}

/// Checks whether pods can be moved: with the kubelet's credentials, whether they can be read; with this
/// program's own, whether the API server permits each request that moves pods. `overrides`: the policy
/// overrides budgets. Then calls `done`.
void ClusterHost::check_rights(bool overrides, std::function<void(const Result<void>&)> done) {
    if (own_ == nullptr)
        return lend([this, done = std::move(done)] { done(check_lent()); });
    check_right(0, overrides, std::move(done));
}

/// Checks evict_rights from this one on.
void ClusterHost::check_right(std::size_t index, bool overrides,
                              std::function<void(const Result<void>&)> done) {
    if (index == evict_rights.size())
        return done({});
    const EvictRight& right = evict_rights.at(index);
    if (right.overrides && !overrides)
        return check_right(index + 1, overrides, std::move(done));
    (void)own_->create(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {{"apiVersion", "authorization.k8s.io/v1"},
         {"kind", "SelfSubjectAccessReview"},
         {"spec",
          {{"resourceAttributes",
            {{"verb", right.verb}, {"resource", "pods"}, {"subresource", right.subresource}}}}}},
        [this, index, overrides, done = std::move(done)](cluster::ApiAnswer&& answer) {
            if (!answer.done())
                return done(base::fail(answer.error));
            if (!base::bool_or(member(answer.body, "status"), "allowed", false))
                return done(base::fail(Errc::AccessDenied,
                                       "this host's user may not " +
                                           std::string(evict_rights.at(index).words) +
                                           " pods (EvictAs=own): apply "
                                           "/usr/share/gpuhost/kubernetes/evict/host-evict.yaml"));
            check_right(index + 1, overrides, done);
        });
}

void ClusterHost::plan_check() {
    const client::Call plan = client::driver_call(
        "Plan", {std::string("swap"), std::vector<std::string>{check_version_}, client::Options{}});
    daemon_.ask(plan, [this, number = check_number_](const Result<Json>& planned) {
        if (number != check_number_)
            return;
        if (!planned)
            return check_failed(planned.error());
        if (const std::string problems = lasting_problems(member(*planned, "problems")); !problems.empty())
            return end_check({Task::State::Failed, problems, false});
        dry_run_check();
    });
}

void ClusterHost::dry_run_check() {
    daemon_.start(client::driver_call("Swap", {check_version_}), {{"dry-run", true}},
                  [this, number = check_number_](const Result<std::uint64_t>& started) {
                      if (number != check_number_)
                          return;
                      check_asks_ = false;
                      if (!started)
                          return check_failed(started.error());
                      check_id_ = *started;
                      if (check_id_ == 0) // the version runs already
                          end_check({Task::State::Done, "", false});
                  });
}

void ClusterHost::end_check(Task result) {
    check_asks_ = false;
    check_ = std::move(result);
}

/// Handles an error of a check. If the error says nothing about the version, the check is repeated soon;
/// otherwise the check fails.
void ClusterHost::check_failed(const base::Error& why) {
    if (!is_silent(why))
        return end_check({Task::State::Failed, why.message, false});
    end_check({});
    check_again_ = cluster::now() + between_tries;
}

void ClusterHost::follow_check(Described operation) {
    if (operation == nullptr)
        return;
    const std::string state = *operation ? string_or(**operation, "state", "") : "";
    if (is_running(state))
        return;
    check_id_ = 0;
    if (!*operation)
        return check_failed(operation->error());
    const std::string problems = lasting_problems(member(**operation, "problems"));
    if (problems.empty() && (state == "checked" || state == "refused"))
        return end_check({Task::State::Done, "", false});
    end_check(
        {Task::State::Failed, problems.empty() ? text_of(member(**operation, "error")) : problems, false});
}

// Holders of the driver

/// Finds the pods whose processes hold the driver. Only gpuhostd's workers see processes of other users.
void ClusterHost::query_holders() {
    daemon_.ask(client::driver_call("Holders"),
                [this, number = ++query_number_](const Result<Json>& holders) {
                    if (number != query_number_)
                        return;
                    if (!holders)
                        return mover_.found(base::fail(holders.error()));
                    std::set<std::string> pods;
                    for (const Json& holder : *holders)
                        if (std::string pod = string_or(holder, "pod", ""); !pod.empty())
                            pods.insert(std::move(pod));
                    mover_.found(std::move(pods));
                });
}

// Work

void ClusterHost::be_at(const cluster::UpgradeWork& work) {
    mover_.be_at(work.act, work.policy, work.since);
    switch (work.act) {
    case UpgradeAct::Check:
        return begin_check(work.version, work.policy);
    case UpgradeAct::Swap:
    case UpgradeAct::RollBack:
        return begin_swap(work.version, work.policy, work.since);
    case UpgradeAct::CancelSwap:
        if (swap_.task.state == Task::State::Running && (!swap_again_ || cluster::now() >= *swap_again_)) {
            swap_again_ = cluster::now() + between_tries;
            daemon_.cancel(swap_.id, [this](const Result<void>& cancelled) {
                if (!cancelled)
                    log_("can't cancel the swap: " + cancelled.error().message);
            });
        }
        return;
    case UpgradeAct::Reboot:
        if (swap_again_ && cluster::now() < *swap_again_)
            return;
        swap_again_ = cluster::now() + between_tries;
        daemon_.order(client::manager_call("Reboot", {client::Options{}}),
                      [this](const Result<void>& rebooted) {
                          if (!rebooted)
                              log_("can't reboot this host: " + rebooted.error().message);
                      });
        return;
    default:
        return;
    }
}

void ClusterHost::drop_request() {
    daemon_.ask(client::manager_call("RequestUpgrade", {std::string()}), [this](const Result<Json>& dropped) {
        if (!dropped)
            log_("can't notify gpuhostd that the requested upgrade has begun: " + dropped.error().message);
    });
    driver_.requested.clear(); // gpuhostd reports the request again if the call fails
}

std::optional<Time> ClusterHost::due() const {
    std::optional<Time> due = mover_.due();
    for (const auto& other : {check_again_, swap_again_})
        if (other && *other > cluster::now())
            due = due ? std::min(*due, *other) : *other;
    return due;
}

void ClusterHost::turn() {
    if (kubelet_)
        kubelet_->work();
    mover_.turn();
}

int ClusterHost::descriptor() const {
    return kubelet_ ? kubelet_->descriptor() : -1;
}

/// Requests the current credentials, because the kubelet replaces its certificate every few months. Stores
/// them in files that only this program can read. Then calls `lent`.
void ClusterHost::lend(std::function<void()> lent) {
    credentials_pending_ = true;
    daemon_.ask(client::manager_call("GetKubeletCredentials"),
                [this, lent = std::move(lent)](const Result<Json>& answer) {
                    credentials_pending_ = false;
                    lent_ = answer ? store_kubelet_files(*answer) : base::fail(answer.error());
                    lent_at_ = cluster::now();
                    lent();
                });
}

Result<std::string> ClusterHost::store_kubelet_files(const Json& lent) {
    const auto files = base::string_map_or_empty(lent, "files");
    GPUHOST_CHECK(root_.make_directories(cluster::kubelet_directory, 0700));
    std::string kubeconfig;
    for (const auto& [path, text] : files) {
        const std::string copy = cluster::kubelet_directory + path;
        GPUHOST_CHECK(root_.make_directories(copy.substr(0, copy.rfind('/')), 0700));
        GPUHOST_CHECK(root_.write_atomic(copy, text, 0600));
        if (kubeconfig.empty() && (base::ends_with(path, ".conf") || base::ends_with(path, "kubeconfig")))
            kubeconfig = path;
    }
    if (kubeconfig.empty())
        return base::fail(
            Errc::NotFound,
            "kubeconfig of the kubelet: not found: name it in KubeletFiles=, or set EvictAs=own");
    return kubeconfig;
}

/// Opens an Api with the credentials that were received last. `below` must outlive the Api.
Result<cluster::Api> ClusterHost::open_lent(const base::Root& below) const {
    GPUHOST_TRY(kubeconfig, lent_);
    return cluster::Api::open(below, kubeconfig);
}

Result<base::Root> ClusterHost::kubelet_root() const {
    return base::Root::open(root_.host_path(cluster::kubelet_directory));
}

Result<void> ClusterHost::check_lent() const {
    GPUHOST_CHECK(lent_);
    GPUHOST_TRY(below, kubelet_root());
    GPUHOST_CHECK(open_lent(below));
    return {};
}

/// Opens the API server with the kubelet's credentials. While gpuhostd has not replied it fails with Busy,
/// and the pod mover tries again.
Result<cluster::Api*> ClusterHost::open_kubelet() {
    const bool fresh = lent_at_ && cluster::now() < *lent_at_ + lent_for;
    if (!fresh && !credentials_pending_)
        lend([this] { mover_.reopen(); });
    if (!fresh)
        return base::fail(Errc::Busy, "waits for the kubelet's credentials from gpuhostd");
    if (!lent_)
        lent_at_.reset(); // request the credentials again at the next call: the error may be temporary
    GPUHOST_CHECK(lent_);
    GPUHOST_TRY(below, kubelet_root());
    kubelet_.reset();
    kubelet_root_.emplace(std::move(below));
    GPUHOST_TRY(api, open_lent(*kubelet_root_));
    kubelet_.emplace(std::move(api));
    return &*kubelet_;
}
} // namespace gpuhost
