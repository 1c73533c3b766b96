// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/fault_log.hpp"

#include "daemon/devices/device_health.hpp"
#include "daemon/devices/health/xid_table.hpp"

#include <algorithm>

namespace gpuhost::devices {

namespace {

const RequiredAction* action_at(const FaultLog& log, const std::string& address) {
    const auto found = std::find_if(log.actions.begin(), log.actions.end(),
                                    [&](const RequiredAction& one) { return one.address == address; });
    return found == log.actions.end() ? nullptr : &*found;
}

/// Returns what ends the fault: what the driver demands for its GPU, else what the table says.
Recovery recovery_of(const FaultLog& log, const Fault& fault) {
    const RequiredAction* action = action_at(log, fault.address);
    return action != nullptr ? action_recovery(action->action) : xid_recovery(fault.xid, fault.fatal);
}

/// A new load resets the GPUs. Faults that need a restart of the host stay.
void add_load(FaultLog& log) {
    log.missing.clear();
    log.checked.clear();
    for (Fault& fault : log.faults)
        fault.ended = fault.ended || recovery_of(log, fault) != Recovery::reboot;
    std::erase_if(log.actions,
                  [](const RequiredAction& one) { return action_recovery(one.action) != Recovery::reboot; });
}

void add_action(FaultLog& log, const KernelEvent& event, std::int64_t time_us) {
    std::erase_if(log.actions, [&](const RequiredAction& one) { return one.address == event.address; });
    if (event.action != 0) {
        if (log.actions.size() >= most_actions)
            log.actions.erase(log.actions.begin());
        log.actions.push_back({event.address, event.action, event.text, time_us, {}});
        return;
    }
    for (Fault& fault : log.faults)
        fault.ended = fault.ended || fault.address == event.address;
}

/// Returns false if the fault is known. After a clear it is a new one.
bool add_fault(FaultLog& log, const KernelEvent& event, std::int64_t time_us) {
    const auto found = std::find_if(log.faults.begin(), log.faults.end(), [&](const Fault& fault) {
        return fault.address == event.address && fault.gpu_instance == event.gpu_instance &&
               fault.xid == event.xid;
    });
    if (found != log.faults.end() && !found->ended && found->cleared_for.empty()) {
        const bool repeated = found->fatal || !event.fatal;
        found->fatal = found->fatal || event.fatal;
        found->last_us = time_us;
        ++found->count;
        return !repeated;
    }
    if (found != log.faults.end())
        log.faults.erase(found);
    else if (log.faults.size() >= most_faults)
        log.faults.erase(log.faults.begin());
    log.faults.push_back({event.address,
                          event.gpu_instance,
                          event.xid,
                          event.fatal,
                          false,
                          event.text,
                          time_us,
                          time_us,
                          1,
                          {}});
    return true;
}

} // namespace

bool add_event(FaultLog& log, const KernelEvent& event, std::int64_t time_us) {
    switch (event.kind) {
    case KernelEventKind::load:
        add_load(log);
        return true;
    case KernelEventKind::recovery:
        add_action(log, event, time_us);
        return true;
    case KernelEventKind::error:
        return add_fault(log, event, time_us);
    }
    return false;
}

bool lose_errors(FaultLog& log, std::string_view why) {
    if (!log.missing.empty() && log.checked.empty())
        return false;
    log.missing = std::string(missing_errors) + std::string(why);
    log.checked.clear(); // the errors may be of these GPUs
    return true;
}

} // namespace gpuhost::devices
