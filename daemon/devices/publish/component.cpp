// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/publish/component.hpp"

#include "daemon/devices/publish/config_file.hpp"
#include "daemon/devices/publish/mark_steps.hpp"
#include "daemon/devices/publish/other_servers.hpp"
#include "daemon/devices/publish/state.hpp"
#include "daemon/devices/publish/steps.hpp"

namespace gpuhost::devices {

using base::Json;
using core::Plan;

base::Result<core::Observation> DevicesComponent::observe(const core::Settings& settings) {
    return observe_devices(root_, devices_settings(settings));
}

Plan DevicesComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    const DevicesSettings settings = devices_settings(desired.settings);
    const bool exists = base::bool_or(observed, "exists", false);
    if (!desired.request.empty())
        return desired.request.contains("devices")
                   ? mark_plan(settings, base::member(desired.request, "devices"), observed)
                   : Plan();
    const bool is_none = !settings.serve || observed_driver(observed).empty();
    Plan plan;
    plan.kind = "devices.converge";
    plan.title = is_none ? "no longer offer GPUs to the kubelet"
                         : "offer the GPUs to the kubelet as " + settings.resource;
    const auto others = base::strings_or_empty(observed, "others");
    if (settings.serve && !settings.mistake.empty()) {
        plan.undecided = core::Problem{base::Errc::InvalidArgument, "section [Devices]: " + settings.mistake,
                                       "Correct it in gpuhostd.conf, then: gpuhostctl reload."};
        if (!is_none && others.empty()) // a step could only remove the offer
            return plan;
    } else if (std::string why = base::string_or(observed, "mistake", ""); !why.empty()) {
        plan.undecided = core::Problem{base::Errc::BadContent, std::move(why), config_hint};
    }
    // If the plan changes the driver, the steps from devices_steps_around() write the offer.
    if (desired.driver_changes && (settings.serve || exists))
        return plan;
    plan.reasons = offer_reasons(settings, observed);
    if (desired.creates_devices && !is_none && plan.reasons.empty())
        plan.reasons.emplace_back("MIG instances are created");
    if (!is_none && !others.empty()) {
        base::Error error = other_server_error(others.front());
        if (remains(observed)) {
            plan.title = "no longer offer GPUs to the kubelet";
            plan.reasons = {error.message};
            plan.steps.push_back(devices_publish_step(settings, plan.title));
        } else {
            plan.reasons.clear();
        }
        plan.undecided = core::Problem{error.code, std::move(error.message), std::move(error.hint)};
        return plan;
    }
    if (plan.undecided && !exists) // a step would offer nothing
        plan.reasons.clear();
    if (!plan.reasons.empty())
        plan.steps.push_back(devices_publish_step(settings, plan.title));
    return plan;
}

} // namespace gpuhost::devices
