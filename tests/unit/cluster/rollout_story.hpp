// SPDX-License-Identifier: Apache-2.0
// The real leaders and hosts on a simulated network and clock. Story holds all of them, and reports when more
// hosts upgrade than allowed. Link with $(time_seam).
#pragma once

#include "daemon/cluster/rollout/leader.hpp"
#include "daemon/cluster/upgrade/agent.hpp"
#include "tests/support/simulated_server.hpp"
#include "tests/support/tmpdir.hpp"
#include "tests/unit/cluster/kubeconfigs.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpuhost::cluster::tests {

using base::Json;
using gpuhost::tests::NetworkFaults;
using gpuhost::tests::SimulatedServer;
using gpuhost::tests::TempDir;

inline constexpr const char* before = "535.216.01";
inline constexpr const char* wanted = "550.163.01";

inline std::string node_path(const std::string& name) {
    return "/api/v1/nodes/" + name;
}

inline std::string grant_path(const std::string& name) {
    return std::string(leases_path) + "/" + grant_name(name);
}

/// The daemon and its driver, which run with or without gpuhost-cluster.
struct Machine final : public UpgradeHost {
    explicit Machine(SimulatedServer& made_in) : server(made_in) {}

    [[nodiscard]] HostDriver driver() const override {
        HostDriver now_here;
        now_here.is_known = is_known;
        now_here.has_gpus = true;
        now_here.running = running;
        now_here.ready = !swaps;
        now_here.swaps = swaps;
        now_here.problem = swaps ? "an operation goes on" : "";
        now_here.boot = "boot";
        return now_here;
    }
    [[nodiscard]] Task check(const std::string& version) const override {
        return version == checked ? Task{Task::State::Done, "", false} : Task();
    }
    [[nodiscard]] Task swap(const std::string& version, std::int64_t since) const override {
        return version == swap_version && since == swap_since ? swap_task : Task();
    }
    [[nodiscard]] Task pods(UpgradeAct act) const override { return act == pods_act ? pods_task : Task(); }

    void drop_request() override {}
    void be_at(const UpgradeWork& work) override {
        if (work.act == UpgradeAct::Check)
            checked = work.version;
        move_pods(work);
        if ((work.act != UpgradeAct::Swap && work.act != UpgradeAct::RollBack) || swaps ||
            (work.version == swap_version && work.since == swap_since))
            return;
        swaps = true;
        begins("swaps");
        swap_version = work.version;
        swap_since = work.since;
        swap_task = {Task::State::Running, "swaps", false};
        server.after(takes.value_or(Time(server.some(40'000))), [this] {
            swaps = false;
            const bool fails = fail_next > 0;
            fail_next -= fails ? 1 : 0;
            swap_task = {fails ? Task::State::Failed : Task::State::Done, "the kernel refused it", false};
            running = fails ? running : swap_version;
            heard = true;
        });
    }

    void move_pods(const UpgradeWork& work) {
        const bool moves = work.act == UpgradeAct::DeletePods || work.act == UpgradeAct::Drain;
        if (!moves)
            pods_act = UpgradeAct::None;
        if (!moves || (work.act == pods_act && work.since == pods_since))
            return;
        begins("moves pods");
        pods_act = work.act;
        pods_since = work.since;
        pods_task = {Task::State::Running, "default/pod", false};
        server.after(Time(server.some(20'000)), [this, since = work.since] {
            if (since != pods_since || pods_act == UpgradeAct::None)
                return;
            pods_task = {Task::State::Done, "pods have ended", false};
            heard = true;
        });
    }

    SimulatedServer& server;
    std::function<void(const char* what)> begins;
    bool is_known = true;
    std::string running = before;
    std::string checked;
    bool swaps = false;
    unsigned fail_next = 0;
    std::optional<Time> takes; ///< random if unset
    std::string swap_version;
    std::int64_t swap_since = 0;
    Task swap_task;
    UpgradeAct pods_act = UpgradeAct::None;
    std::int64_t pods_since = 0;
    Task pods_task;
    bool heard = true; ///< gpuhost-cluster must observe the host
};

/// gpuhost-cluster on one host.
struct Process {
    Process(const base::Root& root, const std::string& name, UpgradeHost& machine, const Policy& policy,
            bool candidate, const std::function<void(const std::string&)>& log_line)
        : api(Api::open(root, "/etc/k.conf").value()), gates(root, log_line),
          upgrade(api, name, machine, log_line), agent(api, name, {}, log_line, &upgrade) {
        Readiness ready;
        ready.gpus = 1;
        upgrade.set_policy(&policy);
        agent.set_readiness(ready);
        if (candidate) {
            leader.emplace(api, gates, name, log_line);
            leader->set_policy(&policy);
        }
    }

    void turn() {
        api.work();
        if (leader)
            leader->turn();
        upgrade.turn();
        agent.turn();
    }
    [[nodiscard]] std::optional<Time> due() const {
        std::optional<Time> soonest;
        for (const auto& one : {leader ? leader->due() : std::nullopt, upgrade.due(), agent.due()})
            if (one)
                soonest = soonest ? std::min(*soonest, *one) : *one;
        return soonest;
    }

    Api api;
    GateKeeper gates;
    UpgradeAgent upgrade;
    std::optional<Leader> leader;
    HostAgent agent;
};

struct Shape {
    unsigned hosts = 5;
    unsigned candidates = 3;
    unsigned parallel = 1;
    Seconds silence{600};
    bool release = false;
};

class Story {
  public:
    Story(unsigned seed, Shape made_of) : shape(made_of), server(seed) {
        directory_.write("etc/k.conf", kubeconfig(cluster_members("https://api")));
        UpgradePolicy upgrade;
        upgrade.version = wanted;
        upgrade.mode = UpgradeMode::Controlled;
        upgrade.max_parallel = shape.parallel;
        upgrade.max_unavailable = {100, true};
        upgrade.failure_budget = {100, true};
        upgrade.retries = 100;
        upgrade.retry_delay = Seconds(5);
        upgrade.swap_timeout = Seconds(1200);
        upgrade.validation_timeout = Seconds(600);
        policy.pools.push_back({"default", Selector(), upgrade});
        policy.silence = shape.silence;
        policy.release_silent = shape.release;
        for (unsigned i = 0; i < shape.hosts; ++i)
            add_host(i);
        server.on_change = [this] { count(); };
        for (unsigned i = 0; i < shape.hosts; ++i)
            start(i);
    }

    struct Host {
        explicit Host(SimulatedServer& in) : machine(in) {}
        std::string name;
        Machine machine;
        std::unique_ptr<Process> process;
        Time paused_until{0};
        /// Its Node was deleted, or the host was silent: it counts again once it has a grant.
        bool given_on = false;
        unsigned turns = 0; ///< since the clock last advanced
    };

    void start(unsigned i) {
        Host& host = *hosts[i];
        server.enter(i);
        host.process = std::make_unique<Process>(
            root_, host.name, host.machine, policy, i < shape.candidates,
            [this, &host](const std::string& line) { log_line(host.name + ": " + line); });
    }
    void kill(unsigned i) {
        hosts[i]->process.reset();
        hosts[i]->machine.pods_act = UpgradeAct::None;
    }
    void add_node(unsigned i) {
        server.put(node_path(hosts[i]->name),
                   {{"metadata", {{"labels", {{"nvidia.com/gpu.present", "true"}}}}},
                    {"spec", Json::object()},
                    {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
    }

    void tell_policy() {
        for (auto& host : hosts)
            if (host->process) {
                host->machine.heard = true;
                if (host->process->leader)
                    host->process->leader->set_policy(&policy);
            }
    }

    /// Runs everything that is due until that time.
    void run(Time duration) {
        const Time end = server.now() + duration;
        while (server.now() < end && problems.empty())
            step(end);
    }

    [[nodiscard]] bool is_over() const {
        for (const auto& host : hosts) {
            const Json* const node = server.find(node_path(host->name));
            if (node == nullptr || server.find(grant_path(host->name)) != nullptr)
                return false;
            const UpgradeNode there = upgrade_node(*node);
            if (there.state != UpgradeState::UpgradeDone || there.unschedulable ||
                host->machine.running != policy.pools[0].policy.version)
                return false;
        }
        return true;
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const std::string& problem : problems)
            all += problem + "\n";
        for (const auto& host : hosts) {
            const Json* const node = server.find(node_path(host->name));
            all += host->name + ": " + (node == nullptr ? "no Node" : (*node)["metadata"].dump()) +
                   (server.find(grant_path(host->name)) != nullptr ? ", has a grant" : "") + "\n";
        }
        for (const std::string& line : lines)
            all += line + "\n";
        return all;
    }
    void log_line(const std::string& line) {
        lines.push_back(std::to_string(server.now().count() - 3'600'000) + " ms: " + line);
        if (lines.size() > 150)
            lines.pop_front();
    }

    Shape shape;
    SimulatedServer server;
    Policy policy;
    std::vector<std::unique_ptr<Host>> hosts;
    std::vector<std::string> problems;
    std::deque<std::string> lines;
    std::set<std::string> at_it; ///< hosts that upgrade and count

  private:
    void add_host(unsigned i) {
        hosts.push_back(std::make_unique<Host>(server));
        Host& host = *hosts.back();
        host.name = "h" + std::to_string(i);
        host.machine.begins = [this, &host](const char* what) { begins(host, what); };
        add_node(i);
    }

    void step(Time end) {
        std::optional<Time> soonest = server.next();
        for (unsigned i = 0; i < hosts.size(); ++i)
            if (const auto due = due_of(i))
                soonest = soonest ? std::min(*soonest, *due) : *due;
        const Time to = std::clamp(soonest.value_or(end), server.now(), end);
        if (to > server.now())
            for (auto& host : hosts)
                host->turns = 0;
        server.advance(to);
        for (unsigned i = 0; i < hosts.size(); ++i)
            if (const auto due = due_of(i); due && *due <= server.now()) {
                Host& host = *hosts[i];
                host.machine.heard = false;
                server.enter(i);
                host.process->turn();
                if (++host.turns > 200)
                    problems.push_back(
                        host.name + " does not become idle: leader " +
                        text_of(host.process->leader ? host.process->leader->due() : std::nullopt) +
                        ", upgrade " + text_of(host.process->upgrade.due()) + ", node " +
                        text_of(host.process->agent.due()));
            }
    }

    [[nodiscard]] std::string text_of(std::optional<Time> due) const {
        return due ? std::to_string((*due - server.now()).count()) + " ms" : "never";
    }

    [[nodiscard]] std::optional<Time> due_of(unsigned i) const {
        const Host& host = *hosts[i];
        if (!host.process)
            return std::nullopt;
        const auto due =
            server.has_answers(i) || host.machine.heard ? std::optional(server.now()) : host.process->due();
        return due ? std::optional(std::max(*due, host.paused_until)) : std::nullopt;
    }

    /// Called at each change.
    void count() {
        std::set<std::string> now_at_it;
        for (const auto& host : hosts) {
            const Json* const node = server.find(node_path(host->name));
            const Json* const grant = server.find(grant_path(host->name));
            const UpgradeNode there = node != nullptr ? upgrade_node(*node) : UpgradeNode();
            const bool under_way = is_under_way(there.state) && there.record.state == there.state;
            if (grant != nullptr && lease_facts(*grant).node_uid == there.uid)
                host->given_on = false;
            else if (node == nullptr || (shape.release && at_it.count(host->name) != 0))
                host->given_on = true;
            else if (!under_way && !host->machine.swaps)
                host->given_on = false;
            if (node != nullptr && !host->given_on && (under_way || host->machine.swaps))
                now_at_it.insert(host->name);
        }
        const bool more = std::any_of(now_at_it.begin(), now_at_it.end(),
                                      [this](const auto& name) { return at_it.count(name) == 0; });
        at_it = std::move(now_at_it);
        if (!more || at_it.size() <= shape.parallel)
            return;
        std::string names;
        for (const std::string& name : at_it)
            names += " " + name;
        problems.push_back(std::to_string(server.now().count() - 3'600'000) +
                           " ms: these upgrade at once:" + names);
    }

    void begins(const Host& host, const char* what) {
        count();
        log_line(host.name + " " + what);
        if (server.find(grant_path(host.name)) == nullptr)
            begun_without_grant += host.name + " " + what + " without a grant at " +
                                   std::to_string(server.now().count() - 3'600'000) + " ms\n";
    }

    TempDir directory_;
    base::Root root_ = directory_.root();

  public:
    std::string begun_without_grant;
};

} // namespace gpuhost::cluster::tests
