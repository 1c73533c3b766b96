// SPDX-License-Identifier: Apache-2.0
// Simulates many hosts in one process: real agents of gpuhost-cluster, on hosts whose drivers are simulated.
// Runs until it is killed.
//
//   fleet --kubeconfig=FILE --hosts=COUNT [--first=N] [--prefix=NAME] [--version=V] [--swap-ms=N]
//         [--candidates=N] [--fail=NODE,…] (their swaps fail) [--bad=NODE,…] (their new drivers do not
//         become ready)
#include "daemon/base/arguments.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/policy/source.hpp"
#include "daemon/cluster/rollout/leader.hpp"
#include "daemon/cluster/upgrade/agent.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <span>

#include <poll.h>

namespace {

using namespace gpuhost;          // NOLINT: this file only
using namespace gpuhost::cluster; // NOLINT

constexpr const char* usage = "fleet OPTIONS: see the comment at the top of fleet.cpp\n";
constexpr std::size_t hosts_per_connection = 20;

struct Options {
    std::string kubeconfig;
    std::string hosts = "10";
    std::string first = "1";
    std::string prefix = "sim";
    std::string version = "535.216.01";
    std::string swap_ms = "0";
    std::string candidates = "1";
    std::string fail;
    std::string bad;
};

unsigned number(const std::string& text) {
    return static_cast<unsigned>(base::parse_uint(text).value_or(0));
}

/// A host whose driver swap only lasts a while.
class SimulatedHost final : public UpgradeHost {
  public:
    SimulatedHost(std::string version, Time takes, bool fails, bool bad)
        : running_(version), good_(std::move(version)), takes_(takes), fails_(fails), bad_(bad) {}

    [[nodiscard]] HostDriver driver() const override {
        HostDriver driver;
        driver.is_known = driver.has_gpus = true;
        driver.running = running_;
        driver.ready = !(bad_ && running_ != good_) && task_.state != Task::State::Running;
        driver.problem = driver.ready ? "" : "the driver's device nodes are not all there";
        driver.swaps = task_.state == Task::State::Running;
        driver.boot = "boot";
        return driver;
    }
    [[nodiscard]] Task check(const std::string& version) const override {
        return version == checked_ ? Task{Task::State::Done, "", false} : Task();
    }
    [[nodiscard]] Task swap(const std::string& version, std::int64_t since) const override {
        return version == wanted_ && since == since_ ? task_ : Task();
    }
    [[nodiscard]] Task pods(UpgradeAct) const override { return {Task::State::Done, "", false}; }

    void drop_request() override {}
    void be_at(const UpgradeWork& work) override {
        if (work.act == UpgradeAct::Check)
            checked_ = work.version;
        if ((work.act != UpgradeAct::Swap && work.act != UpgradeAct::RollBack) ||
            (work.version == wanted_ && work.since == since_))
            return;
        wanted_ = work.version;
        since_ = work.since;
        due_ = now() + takes_;
        task_ = {Task::State::Running, "swaps", false};
    }

    [[nodiscard]] std::optional<Time> due() const {
        return checked_ != reported_ ? std::optional(Time(0)) : due_;
    }
    void turn() {
        reported_ = checked_;
        if (!due_ || now() < *due_)
            return;
        due_.reset();
        if (fails_ && wanted_ != good_) {
            task_ = {Task::State::Failed, "the kernel refused the module", false};
            return;
        }
        running_ = wanted_;
        task_ = {Task::State::Done, "", false};
    }

  private:
    std::string running_;
    std::string good_;
    Time takes_;
    bool fails_;
    bool bad_;
    std::string checked_;
    std::string reported_;
    std::string wanted_;
    std::int64_t since_ = 0;
    Task task_;
    std::optional<Time> due_;
};

Readiness ready() {
    Readiness made;
    made.gpus = 1;
    made.conditions.push_back({std::string(driver_ready), "True", "Loaded", "it is simulated"});
    return made;
}

struct Member {
    Member(Api& api, const base::Root& root, const std::string& name, SimulatedHost simulated, bool candidate)
        : host(std::move(simulated)), policy(api, &root, say(name)), upgrade(api, name, host, say(name)),
          gates(root, say(name)), agent(api, name, {}, say(name), &upgrade) {
        agent.set_readiness(ready());
        if (candidate)
            leader.emplace(api, gates, name, say(name));
    }

    static std::function<void(const std::string&)> say(const std::string& name) {
        return [name](const std::string& line) {
            std::printf("%s: %s\n", name.c_str(), line.c_str());
            (void)std::fflush(stdout);
        };
    }

    void turn() {
        policy.turn();
        if (policy.changes() != seen) {
            seen = policy.changes();
            upgrade.set_policy(policy.policy());
            if (leader)
                leader->set_policy(policy.policy());
        }
        if (leader)
            leader->turn();
        host.turn();
        upgrade.turn();
        agent.turn();
    }

    [[nodiscard]] std::optional<Time> due() const {
        std::optional<Time> soonest;
        for (const auto& one :
             {policy.due(), leader ? leader->due() : std::nullopt, host.due(), upgrade.due(), agent.due()})
            if (one)
                soonest = soonest ? std::min(*soonest, *one) : *one;
        return soonest;
    }

    SimulatedHost host;
    PolicySource policy;
    UpgradeAgent upgrade;
    GateKeeper gates;
    std::optional<Leader> leader;
    HostAgent agent;
    std::uint64_t seen = 0;
};

/// Runs all members; returns only on an error.
base::Result<void> run(const Options& options) {
    GPUHOST_TRY(root, base::Root::open("/"));
    const auto among = [](const std::string& words) {
        const auto list = base::split(words, ',');
        return std::set<std::string>(list.begin(), list.end());
    };
    const std::set<std::string> fails = among(options.fail);
    const std::set<std::string> bad = among(options.bad);
    std::vector<std::unique_ptr<Api>> apis;
    std::vector<std::unique_ptr<Member>> members;
    std::vector<pollfd> polled;
    for (unsigned i = 0; i < number(options.hosts); ++i) {
        if (i % hosts_per_connection == 0) {
            GPUHOST_TRY(api, Api::open(root, options.kubeconfig));
            apis.push_back(std::make_unique<Api>(std::move(api)));
            polled.push_back({apis.back()->descriptor(), POLLIN, 0});
        }
        char digits[16] = {};
        (void)std::snprintf(digits, sizeof digits, "%04u", number(options.first) + i);
        const std::string name = options.prefix + digits;
        members.push_back(
            std::make_unique<Member>(*apis.back(), root, name,
                                     SimulatedHost(options.version, Time(number(options.swap_ms)),
                                                   fails.count(name) != 0, bad.count(name) != 0),
                                     i < number(options.candidates)));
    }
    const std::size_t gates = polled.size(); // of each candidate
    polled.resize(gates + std::min<std::size_t>(number(options.candidates), members.size()), {-1, POLLIN, 0});
    for (;;) {
        // Only members with received data or a due time run, because there are many.
        std::optional<Time> soonest;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const std::optional<Time> before = members[i]->due();
            const bool leads = gates + i < polled.size();
            if (polled[i / hosts_per_connection].revents != 0 || (before && *before <= now()) ||
                (leads && polled[gates + i].revents != 0))
                members[i]->turn();
            if (leads)
                polled[gates + i].fd = members[i]->gates.descriptor();
            if (const auto due = members[i]->due())
                soonest = soonest ? std::min(*soonest, *due) : *due;
        }
        const Time left = soonest ? std::clamp(*soonest - now(), Time(0), Time(60'000)) : Time(60'000);
        (void)::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
        for (std::size_t i = 0; i < apis.size(); ++i)
            if (polled[i].revents != 0)
                apis[i]->work();
    }
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status =
            base::parse_arguments(std::span(argv, static_cast<std::size_t>(argc)), {"fleet", usage},
                                  {{"--kubeconfig=", &options.kubeconfig},
                                   {"--hosts=", &options.hosts},
                                   {"--first=", &options.first},
                                   {"--prefix=", &options.prefix},
                                   {"--version=", &options.version},
                                   {"--swap-ms=", &options.swap_ms},
                                   {"--candidates=", &options.candidates},
                                   {"--fail=", &options.fail},
                                   {"--bad=", &options.bad}}))
        return *status;
    base::log::error(run(options).error().message);
    return 1;
}
