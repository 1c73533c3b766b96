// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/clears.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

namespace {

bool contains(const std::vector<std::string>& uuids, const std::string& uuid) {
    return std::find(uuids.begin(), uuids.end(), uuid) != uuids.end();
}

/// Adds a UUID to a list of at most `most`.
void add(std::vector<std::string>& uuids, const std::string& uuid, std::size_t most) {
    if (contains(uuids, uuid))
        return;
    if (uuids.size() >= most)
        uuids.erase(uuids.begin());
    uuids.push_back(uuid);
}

void apply(FaultLog& log, const Gpu& gpu, const std::string& uuid) {
    const auto is_here = [&](const auto& one) { return base::starts_with(gpu.address, one.address + "."); };
    if (uuid == gpu.uuid) {
        std::erase_if(log.faults, is_here);
        std::erase_if(log.actions, is_here);
        if (!log.missing.empty())
            add(log.checked, uuid, most_checked);
        return;
    }
    for (Fault& fault : log.faults)
        if (is_here(fault))
            add(fault.cleared_for, uuid, most_cleared);
    for (RequiredAction& action : log.actions)
        if (is_here(action))
            add(action.cleared_for, uuid, most_cleared);
}

bool has(const Gpu& gpu, const std::string& uuid) {
    return gpu.uuid == uuid || std::any_of(gpu.instances.begin(), gpu.instances.end(),
                                           [&](const Instance& one) { return one.uuid == uuid; });
}

bool is_marked(const HealthRules& rules, const Gpu& gpu) {
    return std::any_of(rules.marks.begin(), rules.marks.end(),
                       [&](const Mark& mark) { return mark.uuid == gpu.uuid; });
}

/// Ends that errors may be missing, once all GPUs are checked. Returns true if it did.
bool end_missing(FaultLog& log, const std::vector<Gpu>& gpus, const HealthRules& rules) {
    const bool are_checked = std::all_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
        return contains(log.checked, gpu.uuid) || is_marked(rules, gpu);
    });
    if (log.missing.empty() || gpus.empty() || !are_checked)
        return false;
    log.missing.clear();
    log.checked.clear();
    return true;
}

} // namespace

bool apply_clears(FaultLog& log, const std::vector<Gpu>& gpus, const HealthRules& rules) {
    for (const Clear& clear : rules.clears) {
        if (std::find(log.applied.begin(), log.applied.end(), clear) != log.applied.end())
            continue;
        for (const Gpu& gpu : gpus)
            if (has(gpu, clear.uuid))
                apply(log, gpu, clear.uuid);
    }
    const bool is_new = std::exchange(log.applied, rules.clears) != rules.clears;
    return end_missing(log, gpus, rules) || is_new;
}

} // namespace gpuhost::devices
