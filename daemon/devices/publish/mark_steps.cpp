// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/mark_steps.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/devices/publish/documents.hpp"
#include "daemon/devices/publish/marks.hpp"
#include "daemon/devices/publish/offer_files.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

namespace {

using base::Errc;
using base::Json;
using base::Result;
using core::Plan;
using core::StepContext;

constexpr std::string_view saved_file = "/gpu-marks-before.json"; ///< in the staging directory

Result<void> save_marks(StepContext& context, const HealthRules& rules) {
    const std::string path = context.staging + std::string(saved_file);
    if (context.root.exists(path))
        return {};
    GPUHOST_CHECK(context.root.make_directories(context.staging));
    return context.root.write_atomic(path, base::dump(to_json(rules)));
}

/// Forgets that faulty memory waits for a reset: who clears a device has reset it. NVML is asked again with
/// the next offer of all GPUs.
void forget_pending_memory(Offer& offer, const std::string& device) {
    for (Gpu& gpu : offer.gpus)
        if (gpu.uuid == device)
            gpu.memory_pending = false;
}

/// Writes the present offer again, with other rules. Without an offer, the next one has them. Without a
/// record, devices.publish makes both again. `cleared`: a device; empty: none.
Result<void> offer_again(StepContext& context, const HealthRules& rules, const std::string& cleared) {
    auto offer = read_offer(context.root);
    auto record = read_offer_record(context.root);
    if (!offer)
        return {};
    GPUHOST_CHECK(save_offer(context.root, context.staging));
    offer->health = rules;
    forget_pending_memory(*offer, cleared);
    GPUHOST_TRY(id, write_offer(context.root, *std::move(offer)));
    if (record) {
        record->id = id;
        record->inputs["health"] = to_json(rules);
        GPUHOST_CHECK(write_offer_record(context.root, *record));
    }
    confirm_offer(context, id);
    return {};
}

template <class Change>
Result<Json> change_marks(StepContext& context, const Json& args, bool is_clear, const Change& change) {
    GPUHOST_TRY(rules,
                health_rules(context.root, devices_settings_from_json(base::member(args, "settings"))));
    GPUHOST_CHECK(save_marks(context, rules));
    const std::string device = base::string_or(args, "device", "");
    GPUHOST_CHECK(change(rules, device));
    GPUHOST_CHECK(write_marks(context.root, rules));
    GPUHOST_CHECK(offer_again(context, rules, is_clear ? device : ""));
    return Json::object();
}

Result<Json> mark(StepContext& context, const Json& args) {
    return change_marks(context, args, false, [&](HealthRules& rules, const std::string& device) {
        return add_mark(rules, device, base::string_or(args, "reason", ""),
                        static_cast<std::int64_t>(base::realtime_us()));
    });
}

Result<Json> clear(StepContext& context, const Json& args) {
    return change_marks(context, args, true,
                        [](HealthRules& rules, const std::string& device) -> Result<void> {
                            add_clear(rules, device, static_cast<std::int64_t>(base::realtime_us()));
                            return {};
                        });
}

Result<void> undo(StepContext& context, const Json& /*args*/) {
    const auto saved = context.root.read(context.staging + std::string(saved_file));
    if (!saved && saved.error().code == Errc::NotFound)
        return {};
    if (!saved)
        return base::fail(saved.error());
    GPUHOST_TRY(value, base::parse_json(*saved, saved_file));
    GPUHOST_TRY(rules, health_rules_from_json(value));
    GPUHOST_CHECK(write_marks(context.root, rules));
    return restore_offer(context.root, context.staging);
}

Plan problem(Plan plan, Errc code, std::string text, std::string hint) {
    plan.problems.push_back({code, std::move(text), std::move(hint)});
    return plan;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

} // namespace

Plan mark_plan(const DevicesSettings& settings, const Json& request, const Json& observed) {
    const std::string kind = base::string_or(request, "request", "");
    const std::string name = base::string_or(request, "device", "");
    const std::string reason = base::string_or(request, "reason", "");
    const bool marks = kind == "mark";
    Plan plan;
    plan.kind = "devices." + kind;
    plan.title = plan.kind;
    if (!marks && kind != "clear")
        return problem(std::move(plan), Errc::InvalidArgument, "unknown request '" + kind + "' for devices",
                       "");
    if (const std::string mistake = marks ? reason_mistake(reason) : ""; !mistake.empty())
        return problem(std::move(plan), Errc::InvalidArgument, mistake, "Add --reason=TEXT, one line.");
    std::string device = find_device(base::list_of(base::member(observed, "offer"), "devices"), name);
    if (device.empty() && !marks && contains(base::strings_or_empty(observed, "marked"), name))
        device = name; // of a GPU that is no longer there
    if (device.empty())
        return problem(std::move(plan), Errc::NotFound, "device '" + name + "' is not offered to the kubelet",
                       "Show what is offered: gpuhostctl gpu list.");
    plan.title = marks ? "mark " + device + " as unhealthy: " + reason : "clear the faults of " + device;
    plan.reasons = {marks ? "an administrator marks the device" : "an administrator clears the device"};
    core::Step step{plan.kind, plan.title, {{"device", device}, {"settings", to_json(settings)}}};
    if (marks)
        step.args["reason"] = reason;
    plan.steps.push_back(std::move(step));
    return plan;
}

std::vector<core::StepKind> mark_step_kinds() {
    std::vector<core::StepKind> kinds;
    for (const char* name : {"devices.mark", "devices.clear"})
        kinds.push_back(
            {.name = name, .sandbox = core::Sandbox::Store, .writable = {"/run/gpuhost"}, .has_undo = true});
    return kinds;
}

std::vector<core::StepCode> mark_step_code() {
    core::StepCode marking{.name = "devices.mark"};
    marking.apply = mark;
    marking.undo = undo;
    core::StepCode clearing{.name = "devices.clear"};
    clearing.apply = clear;
    clearing.undo = undo;
    return {std::move(marking), std::move(clearing)};
}

} // namespace gpuhost::devices
