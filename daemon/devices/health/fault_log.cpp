// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/fault_log.hpp"

#include "daemon/base/json.hpp"
#include "daemon/devices/health/xid_table.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::int64_t largest_number = 0xffff;

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
        log.actions.push_back({event.address, event.action, event.text, time_us});
        return;
    }
    for (Fault& fault : log.faults)
        fault.ended = fault.ended || fault.address == event.address;
}

/// Returns false if the fault is known.
bool add_fault(FaultLog& log, const KernelEvent& event, std::int64_t time_us) {
    const auto found = std::find_if(log.faults.begin(), log.faults.end(), [&](const Fault& fault) {
        return fault.address == event.address && fault.gpu_instance == event.gpu_instance &&
               fault.xid == event.xid;
    });
    if (found != log.faults.end() && !found->ended) {
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
    log.faults.push_back(
        {event.address, event.gpu_instance, event.xid, event.fatal, false, event.text, time_us, time_us, 1});
    return true;
}

Result<std::optional<unsigned>> optional_number(const Json& value, std::string_view key) {
    if (base::member(value, key).is_null())
        return std::optional<unsigned>();
    GPUHOST_TRY(number, base::get_int(value, key));
    return std::optional(static_cast<unsigned>(std::clamp<std::int64_t>(number, 0, largest_number)));
}

Result<Fault> fault_from_json(const Json& value) {
    Fault fault;
    GPUHOST_TRY(address, base::get_string(value, "address"));
    GPUHOST_TRY(gpu_instance, optional_number(value, "gpu_instance"));
    GPUHOST_TRY(xid, base::get_int(value, "xid"));
    fault.address = std::move(address);
    fault.gpu_instance = gpu_instance;
    fault.xid = static_cast<unsigned>(std::clamp<std::int64_t>(xid, 0, largest_number));
    fault.fatal = base::bool_or(value, "fatal", false);
    fault.ended = base::bool_or(value, "ended", false);
    fault.text = base::string_or(value, "text", "");
    fault.first_us = base::int_or(value, "first_us", 0);
    fault.last_us = base::int_or(value, "last_us", 0);
    fault.count = static_cast<std::uint64_t>(std::max<std::int64_t>(0, base::int_or(value, "count", 0)));
    return fault;
}

Result<RequiredAction> action_from_json(const Json& value) {
    GPUHOST_TRY(address, base::get_string(value, "address"));
    GPUHOST_TRY(action, base::get_int(value, "action"));
    if (action <= 0 || action > largest_number)
        return base::fail(Errc::BadContent, "the log of faults has an invalid action");
    return RequiredAction{std::move(address), static_cast<unsigned>(action),
                          base::string_or(value, "text", ""), base::int_or(value, "since_us", 0)};
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

std::string to_text(const FaultLog& log) {
    Json faults = Json::array();
    for (const Fault& fault : log.faults)
        faults.push_back({{"address", fault.address},
                          {"gpu_instance", fault.gpu_instance ? Json(*fault.gpu_instance) : Json()},
                          {"xid", fault.xid},
                          {"fatal", fault.fatal},
                          {"ended", fault.ended},
                          {"text", fault.text},
                          {"first_us", fault.first_us},
                          {"last_us", fault.last_us},
                          {"count", fault.count}});
    Json actions = Json::array();
    for (const RequiredAction& one : log.actions)
        actions.push_back({{"address", one.address},
                           {"action", one.action},
                           {"text", one.text},
                           {"since_us", one.since_us}});
    return base::dump_pretty({{"next_sequence", log.next_sequence},
                              {"faults", std::move(faults)},
                              {"actions", std::move(actions)}});
}

Result<FaultLog> parse_fault_log(std::string_view text) {
    GPUHOST_TRY(document, base::parse_json(text, "the log of faults"));
    FaultLog log;
    GPUHOST_TRY(sequence, base::get_int(document, "next_sequence"));
    log.next_sequence = static_cast<std::uint64_t>(std::max<std::int64_t>(0, sequence));
    for (const Json& element : base::list_of(document, "faults")) {
        GPUHOST_TRY(fault, fault_from_json(element));
        if (log.faults.size() < most_faults)
            log.faults.push_back(std::move(fault));
    }
    for (const Json& element : base::list_of(document, "actions")) {
        GPUHOST_TRY(action, action_from_json(element));
        if (log.actions.size() < most_actions)
            log.actions.push_back(std::move(action));
    }
    return log;
}

} // namespace gpuhost::devices
