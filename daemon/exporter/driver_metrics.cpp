// SPDX-License-Identifier: Apache-2.0
#include "daemon/exporter/add_metrics.hpp"

#include <map>

namespace gpuhost::exporter {

using base::int_or;
using base::Json;
using base::list_of;
using base::member;
using base::PrometheusText;
using base::string_or;

namespace {

void add_gpus(PrometheusText& text, const Json& driver) {
    std::int64_t served = 0;
    std::int64_t unserved = 0; // omits GPUs with another driver, such as vfio-pci
    for (const Json& gpu : list_of(driver, "gpus")) {
        const std::string by = string_or(gpu, "driver", "");
        served += by == "nvidia" ? 1 : 0;
        unserved += by.empty() || by == "nouveau" ? 1 : 0;
    }
    text.one("gpuhost_gpus", "NVIDIA GPUs on the PCI bus.", count_of(driver, "gpus"));
    text.one("gpuhost_gpus_served", "GPUs that NVIDIA's driver is bound to.", served);
    text.one("gpuhost_gpus_unserved", "GPUs without a driver or with nouveau.", unserved);
}

std::string srcversion(const Json& modules) {
    for (const Json& module : modules)
        if (string_or(module, "name", "") == "nvidia")
            return string_or(module, "srcversion", "");
    return {};
}

/// Returns the flavour of the loaded modules; empty if they are not in the store.
std::string loaded_flavour(const Json& driver, const std::string& version) {
    const std::string loaded = srcversion(list_of(driver, "loaded"));
    for (const Json& stored : list_of(member(driver, "store"), "versions"))
        if (string_or(stored, "version", "") == version)
            for (const Json& set : list_of(stored, "modules"))
                if (!loaded.empty() && srcversion(list_of(set, "modules")) == loaded)
                    return string_or(set, "flavour", "");
    return {};
}

void add_versions(PrometheusText& text, const Json& host, const Json& driver) {
    const std::string loaded = string_or(driver, "loaded_version", "");
    text.one("gpuhost_driver_loaded", "Whether NVIDIA's driver is loaded.", loaded.empty() ? 0 : 1);
    text.family("gpuhost_driver_info",
                "1 for the loaded driver; flavour is empty if its modules are not in the store.");
    if (!loaded.empty())
        text.sample(1, {{"version", loaded}, {"flavour", loaded_flavour(driver, loaded)}});
    text.family("gpuhost_driver_selected_info", "1 for the driver that the running kernel boots with.");
    if (const Json& selected = member(driver, "selected"); selected.is_object())
        text.sample(1, {{"version", string_or(selected, "version", "")}});
    text.family("gpuhost_driver_wanted_info", "1 for the value of Version= of section [Driver].");
    if (const std::string wanted = string_or(driver, "configured", ""); !wanted.empty())
        text.sample(1, {{"version", wanted}});
    text.family("gpuhost_driver_cluster_info",
                "1 for the driver that the cluster's policy selects for this host.");
    const Json& desired = member(member(host, "cluster"), "desired");
    if (const std::string version = string_or(desired, "driver", ""); !version.empty())
        text.sample(1, {{"version", version}});
}

std::int64_t sum_of(const Json& list, std::string_view key) {
    std::int64_t sum = 0;
    for (const Json& one : list)
        sum += int_or(one, key, 0);
    return sum;
}

void add_store(PrometheusText& text, const Json& store) {
    std::int64_t bytes = 0;
    for (const Json& version : list_of(store, "versions")) {
        bytes += sum_of(list_of(version, "userland"), "bytes") + sum_of(list_of(version, "sources"), "size");
        for (const Json& set : list_of(version, "modules"))
            bytes += sum_of(list_of(set, "modules"), "size");
    }
    text.one("gpuhost_driver_store_versions", "Versions in the driver store.", count_of(store, "versions"));
    text.one("gpuhost_driver_store_bytes", "Size of the files in the driver store.", bytes);
    text.one("gpuhost_driver_store_problems", "Sets of the driver store that can't be read.",
             count_of(store, "problems"));
}

/// Adds the history, whose newest change is the first.
void add_history(PrometheusText& text, const Json& history) {
    std::map<std::string, std::int64_t> changes; // by outcome
    std::int64_t last_us = 0;                    // of the newest committed change
    for (const Json& change : list_of(history, "changes")) {
        const std::string outcome = string_or(change, "state", "");
        ++changes[outcome];
        if (outcome == "committed" && last_us == 0)
            last_us = int_or(change, "ended_us", 0);
    }
    text.family("gpuhost_driver_changes", "Changes of the driver in the history, by outcome.");
    for (const auto& [outcome, number] : changes)
        text.sample(number, {{"outcome", outcome}});
    text.family("gpuhost_driver_last_change_timestamp_seconds", "End of the newest committed change.");
    if (last_us > 0)
        text.sample(last_us / 1'000'000);
}

} // namespace

void add_driver(PrometheusText& text, const Json& host, const Json& history) {
    const Json& driver = observed(host, "driver");
    add_history(text, history);
    if (!driver.is_object())
        return;
    add_gpus(text, driver);
    add_versions(text, host, driver);
    add_store(text, member(driver, "store"));
}

} // namespace gpuhost::exporter
