// SPDX-License-Identifier: Apache-2.0
// Measures the cost of one decision of a leader, for tests/bench/rollout:
//
//   admission HOSTS
//
// Prints a line for each case: the fleet, the median and the maximum of milliseconds of CPU for the decision.
#include "daemon/cluster/rollout/admission.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace gpuhost::cluster; // NOLINT: this file only

constexpr const char* wanted = "550.163.01";
constexpr const char* before = "535.216.01";
constexpr std::int64_t now = 1'800'000'000;
constexpr unsigned rounds = 101;
constexpr unsigned at_a_time = 10;
constexpr unsigned racks = 100;
constexpr unsigned pools = 4;

UpgradePolicy upgrade_policy() {
    UpgradePolicy policy;
    policy.version = wanted;
    policy.mode = UpgradeMode::Controlled;
    policy.max_parallel = at_a_time;
    policy.max_unavailable = {25, true};
    policy.failure_budget = {10, true};
    return policy;
}

Selector selector(const std::string& text) {
    return Selector::parse(text).value();
}

Policy one_pool() {
    Policy policy;
    policy.pools.push_back({"default", Selector(), upgrade_policy()});
    return policy;
}

/// A policy with every kind of rule that a decision evaluates.
Policy pools_and_waves() {
    Policy policy;
    for (unsigned i = 0; i < pools; ++i) {
        UpgradePolicy upgrade = upgrade_policy();
        upgrade.topology_key = "rack";
        upgrade.waves.push_back({"canary", selector("tier=canary"), {1, true}, Seconds(600)});
        upgrade.waves.push_back({"early", selector("tier in (canary,early)"), {10, true}, Seconds(600)});
        upgrade.waves.push_back({"most", selector("tier!=last"), {0, false}, Seconds(0)});
        policy.pools.push_back({"pool" + std::to_string(i),
                                i + 1 == pools ? Selector() : selector("pool=p" + std::to_string(i)),
                                upgrade});
    }
    return policy;
}

Fleet fleet(unsigned hosts, UpgradeState state, const Policy& policy) {
    Fleet made;
    for (unsigned i = 0; i < hosts; ++i) {
        char name[32] = {};
        (void)std::snprintf(name, sizeof name, "gpu%05u", i);
        UpgradeNode node;
        node.name = name;
        node.uid = "00000000-0000-4000-8000-" + std::string(name);
        node.state = node.record.state = state;
        node.record.version = wanted;
        node.record.from = before;
        node.record.prepared = true;
        node.reason = "all places are taken: maxParallelUpgrades is 10";
        const char* const tier = i % 100 == 0 ? "canary" : i % 10 == 0 ? "early" : "other";
        const Labels labels = {{"pool", "p" + std::to_string(i % pools)},
                               {"rack", "r" + std::to_string(i % racks)},
                               {"tier", tier}};
        made.hosts[name] = place(std::move(node), labels, policy);
    }
    return made;
}

double cpu_ms() {
    timespec at{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
}

void measure(const char* what, const Fleet& fleet, const Policy& policy) {
    std::vector<double> took;
    for (unsigned i = 0; i < rounds; ++i) {
        const double began = cpu_ms();
        const Admission admission = admit(fleet, policy, {}, now);
        took.push_back(cpu_ms() - began);
    }
    std::sort(took.begin(), took.end());
    std::printf("%s %.3f %.3f\n", what, took[rounds / 2], took.back());
}

void grant_some(Fleet& fleet) {
    unsigned count = 0;
    for (const auto& [name, host] : fleet.hosts)
        if (count++ < at_a_time)
            fleet.grants[name] = {name, host.node.uid, Seconds(0), Seconds(300)};
}

} // namespace

int main(int argc, char* argv[]) {
    const unsigned hosts = argc == 2 ? static_cast<unsigned>(std::stoul(argv[1])) : 0;
    if (hosts == 0) {
        std::fputs("admission HOSTS\n", stderr);
        return 2;
    }
    const Policy plain = one_pool();
    measure("all done", fleet(hosts, UpgradeState::UpgradeDone, plain), plain);
    Fleet begins = fleet(hosts, UpgradeState::UpgradeRequired, plain);
    measure("all waiting and all places free", begins, plain);
    grant_some(begins);
    measure("all waiting for a place", begins, plain);
    const Policy rich = pools_and_waves();
    measure("in 4 pools with 3 waves and 100 racks", fleet(hosts, UpgradeState::UpgradeRequired, rich), rich);
    return 0;
}
