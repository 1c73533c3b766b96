// SPDX-License-Identifier: Apache-2.0
// The saved form of the log of faults.
#include "daemon/base/json.hpp"
#include "daemon/devices/health/fault_log.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::int64_t largest_number = 0xffff;

Result<std::optional<unsigned>> optional_number(const Json& value, std::string_view key) {
    if (base::member(value, key).is_null())
        return std::optional<unsigned>();
    GPUHOST_TRY(number, base::get_int(value, key));
    return std::optional(static_cast<unsigned>(std::clamp<std::int64_t>(number, 0, largest_number)));
}

std::vector<std::string> uuids_of(const Json& value, std::string_view key, std::size_t most) {
    std::vector<std::string> uuids = base::strings_or_empty(value, key);
    uuids.resize(std::min(uuids.size(), most));
    return uuids;
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
    fault.cleared_for = uuids_of(value, "cleared_for", most_cleared);
    return fault;
}

Result<RequiredAction> action_from_json(const Json& value) {
    GPUHOST_TRY(address, base::get_string(value, "address"));
    GPUHOST_TRY(action, base::get_int(value, "action"));
    if (action <= 0 || action > largest_number)
        return base::fail(Errc::BadContent, "the log of faults has an invalid action");
    return RequiredAction{std::move(address), static_cast<unsigned>(action),
                          base::string_or(value, "text", ""), base::int_or(value, "since_us", 0),
                          uuids_of(value, "cleared_for", most_cleared)};
}

} // namespace

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
                          {"count", fault.count},
                          {"cleared_for", fault.cleared_for}});
    Json actions = Json::array();
    for (const RequiredAction& one : log.actions)
        actions.push_back({{"address", one.address},
                           {"action", one.action},
                           {"text", one.text},
                           {"since_us", one.since_us},
                           {"cleared_for", one.cleared_for}});
    HealthRules applied;
    applied.clears = log.applied;
    return base::dump_pretty({{"next_sequence", log.next_sequence},
                              {"applied", base::member(to_json(applied), "clears")},
                              {"missing", log.missing},
                              {"checked", log.checked},
                              {"faults", std::move(faults)},
                              {"actions", std::move(actions)}});
}

Result<FaultLog> parse_fault_log(std::string_view text) {
    GPUHOST_TRY(document, base::parse_json(text, "the log of faults"));
    FaultLog log;
    GPUHOST_TRY(sequence, base::get_int(document, "next_sequence"));
    log.next_sequence = static_cast<std::uint64_t>(std::max<std::int64_t>(0, sequence));
    GPUHOST_TRY(applied, health_rules_from_json({{"clears", base::list_of(document, "applied")}}));
    log.applied = std::move(applied.clears);
    log.missing = base::string_or(document, "missing", "");
    log.checked = uuids_of(document, "checked", most_checked);
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
