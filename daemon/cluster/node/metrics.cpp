// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/metrics.hpp"

#include "config.h"
#include "daemon/base/json.hpp"
#include "daemon/base/prometheus.hpp"

#include <array>
#include <map>
#include <utility>

namespace gpuhost::cluster {

using base::Json;
using base::list_of;
using base::member;
using base::PrometheusText;
using base::string_or;

namespace {

void add_host(PrometheusText& text, const Json& status) {
    text.family("gpuhost_build_info", "Always 1, with the version of a program.");
    text.sample(1, {{"program", "gpuhost-cluster"}, {"version", PACKAGE_VERSION}});
    text.one("gpuhost_connected", "Whether this host's Node is watched at the API server.",
             string_or(status, "state", "") == "connected" ? 1 : 0);
    if (const std::int64_t until = base::int_or(status, "certificate_until", 0); until > 0) {
        // The help is that of gpuhost-exporter: node_exporter refuses two texts for one name.
        text.family("gpuhost_certificate_expiry_timestamp_seconds", "When a certificate expires.");
        text.sample(until, {{"use", "cluster"}});
    }
    if (const Json& conditions = list_of(status, "conditions"); !conditions.empty()) {
        text.family("gpuhost_condition",
                    "1 for the status of each condition that this host sets on its Node.");
        for (const Json& condition : conditions)
            text.sample(1, {{"type", string_or(condition, "type", "")},
                            {"status", string_or(condition, "status", "")}});
    }
    const Json& upgrade = member(status, "upgrade");
    if (!upgrade.is_object())
        return;
    text.family("gpuhost_upgrade_state", "1 for the state of this host's driver upgrade; empty: no upgrade.");
    text.sample(1,
                {{"state", string_or(upgrade, "state", "")}, {"version", string_or(upgrade, "version", "")}});
    text.one("gpuhost_upgrade_state_since_seconds", "Time when that state began, in seconds since 1970.",
             base::int_or(upgrade, "since", 0));
    text.one("gpuhost_upgrade_attempts", "Attempts of the upgrade that is in progress or failed.",
             base::int_or(upgrade, "attempts", 0));
}

struct Number {
    const char* key; ///< member of a pool's document
    const char* name;
    const char* help;
};

/// The GPU Operator's metrics. Each is the sum over all pools, because the GPU Operator has no pools.
constexpr std::array numbers{
    Number{"hosts", "gpu_operator_gpu_nodes_total", "Nodes with GPUs."},
    Number{"in_progress", "gpu_operator_nodes_upgrades_in_progress", "Nodes whose driver is being upgraded."},
    Number{"done", "gpu_operator_nodes_upgrades_done", "Nodes that run the desired driver version."},
    Number{"failed", "gpu_operator_nodes_upgrades_failed", "Nodes whose upgrade has failed."},
    Number{"available", "gpu_operator_nodes_upgrades_available",
           "Nodes whose upgrade can begin now: free places."},
    Number{"pending", "gpu_operator_nodes_upgrades_pending", "Nodes that wait to be upgraded."},
};

void add_fleet(PrometheusText& text, const Json& leader) {
    const bool leads = base::bool_or(leader, "leads", false);
    text.one("gpuhost_leader", "Whether this host leads the rollout.", leads ? 1 : 0);
    if (!leads)
        return;
    const std::int64_t automatic = base::bool_or(leader, "auto_upgrade", false) ? 1 : 0;
    // The first name is from the GPU Operator's documentation, the second from its code.
    for (const char* name : {"gpu_operator_auto_upgrade_enabled", "gpu_operator_driver_auto_upgrade_enabled"})
        text.one(name, "Whether drivers are upgraded automatically.", automatic);
    const Json& pools = list_of(leader, "pools");
    for (const Number& number : numbers) {
        std::int64_t sum = 0;
        for (const Json& pool : pools)
            sum += base::int_or(pool, number.key, 0);
        text.one(number.name, number.help, sum);
    }
    text.family("gpuhost_upgrade_hosts", "Hosts of each pool by the state of their upgrade.");
    for (const Json& pool : pools)
        for (const char* state : {"pending", "in_progress", "done", "failed"})
            text.sample(base::int_or(pool, state, 0),
                        {{"pool", string_or(pool, "name", "")}, {"state", state}});
    // for each name, whether all gates with it are open: gates of several pools may share a name
    std::map<std::string, bool> gates;
    for (const Json& gate : list_of(leader, "gates")) {
        const bool open = base::bool_or(gate, "open", false);
        const auto [known, is_new] = gates.emplace(string_or(gate, "name", ""), open);
        known->second = known->second && open;
    }
    if (gates.empty())
        return;
    text.family("gpuhost_gate_open",
                "Whether a rollout's gate was open at the last query of its Prometheus.");
    for (const auto& [name, open] : gates)
        text.sample(open ? 1 : 0, {{"gate", name}});
}

} // namespace

std::string metrics_text(const Json& status) {
    PrometheusText text;
    add_host(text, status);
    if (const Json& leader = member(status, "leader"); leader.is_object())
        add_fleet(text, leader);
    return std::move(text.text);
}

} // namespace gpuhost::cluster
