// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health_rules.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/sharing.hpp"

#include <algorithm>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t longest_uuid = 63 - longest_replica; ///< the kubelet refuses ids of more than 63

std::vector<unsigned> numbers_of(const Json& value, std::string_view key) {
    std::vector<unsigned> numbers;
    for (const Json& element : base::list_of(value, key))
        if (element.is_number_unsigned() && element.get<std::uint64_t>() <= largest_xid)
            numbers.push_back(element.get<unsigned>());
    return numbers;
}

Result<std::string> uuid_of(const Json& value) {
    GPUHOST_TRY(uuid, base::get_string(value, "uuid"));
    if (!is_device_uuid(uuid))
        return base::fail(Errc::BadContent, "a mark or clear has an invalid UUID");
    return std::move(uuid);
}

} // namespace

bool is_device_uuid(std::string_view text) {
    return (base::starts_with(text, "GPU-") || base::starts_with(text, "MIG-")) && text.size() > 4 &&
           text.size() <= longest_uuid && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
           });
}

Json to_json(const HealthRules& rules) {
    Json marks = Json::array();
    for (const Mark& mark : rules.marks)
        marks.push_back({{"uuid", mark.uuid}, {"reason", mark.reason}, {"since_us", mark.since_us}});
    Json clears = Json::array();
    for (const Clear& clear : rules.clears)
        clears.push_back({{"uuid", clear.uuid}, {"time_us", clear.time_us}});
    return {{"ignore_xids", rules.ignore_xids},
            {"fatal_xids", rules.fatal_xids},
            {"marks", std::move(marks)},
            {"clears", std::move(clears)}};
}

Result<HealthRules> health_rules_from_json(const Json& value) {
    HealthRules rules{numbers_of(value, "ignore_xids"), numbers_of(value, "fatal_xids"), {}, {}};
    const Json& marks = base::list_of(value, "marks");
    const Json& clears = base::list_of(value, "clears");
    if (marks.size() > most_marks || clears.size() > most_marks)
        return base::fail(Errc::BadContent, "there are more than " + std::to_string(most_marks) +
                                                " marks or clears of devices");
    for (const Json& element : marks) {
        GPUHOST_TRY(uuid, uuid_of(element));
        rules.marks.push_back(
            {std::move(uuid), base::string_or(element, "reason", ""), base::int_or(element, "since_us", 0)});
    }
    for (const Json& element : clears) {
        GPUHOST_TRY(uuid, uuid_of(element));
        rules.clears.push_back({std::move(uuid), base::int_or(element, "time_us", 0)});
    }
    return rules;
}

} // namespace gpuhost::devices
