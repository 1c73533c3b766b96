// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/host.hpp"

#include "daemon/base/log.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/cluster/node/readiness.hpp"
#include "daemon/programs/gpuhost_cluster/operation_result.hpp"

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

constexpr Time between_tries{15'000}; ///< between two attempts while gpuhostd is busy or does not answer
constexpr std::uint64_t holders_leave_us = 120'000'000;
constexpr std::int64_t second_us = 1'000'000;
/// Prefixes of the kinds of operations that leave the running driver unchanged.
constexpr std::array<std::string_view, 9> keep_driver{"bundle.",      "images.",       "image.",
                                                      "toolkit.",     "runtime.",      "driver.import",
                                                      "driver.build", "driver.verify", "driver.clean"};

const base::Result<Json>* described(const DaemonState& state, std::uint64_t id) {
    const auto found = state.descriptions.find(id);
    return found == state.descriptions.end() ? nullptr : &found->second;
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
    : daemon_(daemon), root_(root), node_(std::move(node)), log_(std::move(log_line)),
      access_(daemon, root, own), check_(daemon, access_),
      mover_(
          node_, [this] { return access_.open([this] { mover_.reopen(); }); }, [this] { query_holders(); },
          [this](const std::string& line) { log_(line); }) {}

void ClusterHost::see(const DaemonState& state) {
    if (const auto* const checked = described(state, check_.dry_run()); checked != nullptr)
        check_.follow(*checked);
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
    if (std::string store = base::dump(member(observed, "store")); std::exchange(store_, store) != store)
        check_.retry();
}

cluster::HostDriver ClusterHost::driver() const {
    cluster::HostDriver driver = driver_;
    for (const Swap* swap : {&asked_swap_, &swap_})
        driver.swaps = driver.swaps || swap->task.state == Task::State::Running;
    return driver;
}

void ClusterHost::lose() {
    driver_.is_known = false;
    check_.forget();
    dry_runs_.clear();
    ++query_number_;
    mover_.found(base::fail(Errc::Busy, "gpuhostd is not running")); // ignored unless a search is pending
}

// Operations of the daemon

std::optional<std::uint64_t> ClusterHost::wants(const DaemonState& state) const {
    if (check_.dry_run() != 0 && described(state, check_.dry_run()) == nullptr)
        return check_.dry_run();
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
        return check_.begin(work.version, work.policy);
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
    for (const auto& other : {check_.due(), swap_again_})
        if (other && *other > cluster::now())
            due = due ? std::min(*due, *other) : *other;
    return due;
}

void ClusterHost::turn() {
    access_.work();
    mover_.turn();
}

} // namespace gpuhost
