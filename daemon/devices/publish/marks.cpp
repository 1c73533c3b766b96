// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/marks.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/publish/offer_files.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

Result<HealthRules> read_rules(const Root& root, std::string_view path) {
    const auto text = root.read(path);
    if (!text && text.error().code == Errc::NotFound)
        return HealthRules();
    const auto value = text ? base::parse_json(*text, path) : base::fail(text.error());
    auto rules = value ? health_rules_from_json(*value) : base::fail(value.error());
    if (rules && value->is_object())
        return rules;
    return base::fail(rules ? Errc::BadContent : rules.error().code,
                      "marks or clears of GPUs can't be read: " + std::string(path) + ": " +
                          (rules ? "not an object" : rules.error().message),
                      "Repair or remove " + std::string(path) +
                          ", then mark the GPUs again: gpuhostctl gpu mark.");
}

/// Writes one list of the rules; removes the file if the list is empty.
Result<void> write_list(const Root& root, std::string_view path, const HealthRules& rules,
                        std::string_view key) {
    const Json list = base::member(to_json(rules), key);
    if (list.empty())
        return root.remove(path);
    return root.write_atomic(path, base::dump_pretty(Json{{std::string(key), list}}));
}

} // namespace

Result<HealthRules> health_rules(const Root& root, const DevicesSettings& settings) {
    GPUHOST_TRY(marks, read_rules(root, marks_path));
    GPUHOST_TRY(clears, read_rules(root, clears_path));
    return HealthRules{settings.ignore_xids, settings.fatal_xids, std::move(marks.marks),
                       std::move(clears.clears)};
}

HealthRules usable_rules(const Root& root, const DevicesSettings& settings, std::string& problem) {
    auto rules = health_rules(root, settings);
    if (rules)
        return *std::move(rules);
    problem = rules.error().message;
    const auto offer = read_offer(root);
    HealthRules kept = offer ? offer->health : HealthRules();
    kept.ignore_xids = settings.ignore_xids;
    kept.fatal_xids = settings.fatal_xids;
    return kept;
}

Result<void> write_marks(const Root& root, const HealthRules& rules) {
    GPUHOST_CHECK(root.make_directories(marks_path.substr(0, marks_path.rfind('/'))));
    GPUHOST_CHECK(root.make_directories(clears_path.substr(0, clears_path.rfind('/'))));
    GPUHOST_CHECK(write_list(root, marks_path, rules, "marks"));
    return write_list(root, clears_path, rules, "clears");
}

Result<void> add_mark(HealthRules& rules, const std::string& uuid, const std::string& reason,
                      std::int64_t now_us) {
    const auto found = std::find_if(rules.marks.begin(), rules.marks.end(),
                                    [&](const Mark& mark) { return mark.uuid == uuid; });
    if (found != rules.marks.end()) {
        if (found->reason != reason)
            *found = {uuid, reason, now_us};
        return {};
    }
    if (rules.marks.size() >= most_marks)
        return base::fail(Errc::NoSpace, "there are " + std::to_string(most_marks) + " marks already",
                          "Remove marks of devices that no longer exist: gpuhostctl gpu clear UUID.");
    rules.marks.push_back({uuid, reason, now_us});
    return {};
}

void add_clear(HealthRules& rules, const std::string& uuid, std::int64_t now_us) {
    std::erase_if(rules.marks, [&](const Mark& mark) { return mark.uuid == uuid; });
    for (const Clear& clear : rules.clears)
        if (clear.uuid == uuid && clear.time_us == now_us)
            ++now_us; // differs from the last clear
    std::erase_if(rules.clears, [&](const Clear& clear) { return clear.uuid == uuid; });
    if (rules.clears.size() >= most_marks)
        rules.clears.erase(rules.clears.begin()); // the oldest
    rules.clears.push_back({uuid, now_us});
}

std::string reason_mistake(const std::string& reason) {
    if (base::trim(reason).empty())
        return "a mark needs a reason";
    if (reason.size() > longest_mark)
        return "the reason is longer than " + std::to_string(longest_mark) + " bytes";
    const bool has_control =
        std::any_of(reason.begin(), reason.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
    return has_control || !base::is_utf8(reason) ? "the reason has characters that can't be printed" : "";
}

} // namespace gpuhost::devices
