// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/clears.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>

namespace gpuhost::devices {

namespace {

void clear_for(std::vector<std::string>& cleared, const std::string& uuid) {
    if (std::find(cleared.begin(), cleared.end(), uuid) != cleared.end())
        return;
    if (cleared.size() >= most_cleared)
        cleared.erase(cleared.begin());
    cleared.push_back(uuid);
}

void apply(FaultLog& log, const Gpu& gpu, const std::string& uuid) {
    const auto is_here = [&](const auto& one) { return base::starts_with(gpu.address, one.address + "."); };
    if (uuid == gpu.uuid) {
        std::erase_if(log.faults, is_here);
        std::erase_if(log.actions, is_here);
        return;
    }
    for (Fault& fault : log.faults)
        if (is_here(fault))
            clear_for(fault.cleared_for, uuid);
    for (RequiredAction& action : log.actions)
        if (is_here(action))
            clear_for(action.cleared_for, uuid);
}

bool has(const Gpu& gpu, const std::string& uuid) {
    return gpu.uuid == uuid || std::any_of(gpu.instances.begin(), gpu.instances.end(),
                                           [&](const Instance& one) { return one.uuid == uuid; });
}

} // namespace

bool apply_clears(FaultLog& log, const std::vector<Gpu>& gpus, const std::vector<Clear>& clears) {
    if (log.applied == clears)
        return false;
    for (const Clear& clear : clears) {
        if (std::find(log.applied.begin(), log.applied.end(), clear) != log.applied.end())
            continue;
        for (const Gpu& gpu : gpus)
            if (has(gpu, clear.uuid))
                apply(log, gpu, clear.uuid);
    }
    log.applied = clears;
    return true;
}

} // namespace gpuhost::devices
