// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/component.hpp"

#include "daemon/runtime/cdi/state.hpp"
#include "daemon/runtime/cdi/steps.hpp"
#include "daemon/runtime/cdi/validations.hpp"
#include "daemon/runtime/cdi_settings.hpp"

namespace gpuhost::runtime {

using base::Json;
using core::Plan;

base::Result<core::Observation> CdiComponent::observe(const core::Settings& settings) {
    Json observed = observe_cdi(root_);
    const CdiSettings cdi = cdi_settings(settings);
    observed["enable"] = cdi.enable;
    observed["directory"] = cdi.directory;
    observed["validations"] = observe_validations(root_, validation_settings(settings.to_json()));
    return observed;
}

Plan CdiComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    // If the plan changes the driver, the steps from cdi_steps_around() publish the specifications.
    if (!desired.request.empty() ||
        (desired.driver_changes && !cdi_steps_around(desired.settings).after.empty()))
        return {};
    const CdiSettings settings = cdi_settings(desired.settings);
    const std::string driver = observed_driver(observed);
    const bool is_none = !settings.enable || driver.empty();
    Plan plan;
    plan.kind = "cdi.converge";
    plan.title =
        is_none ? "remove the CDI specifications" : "write the CDI specifications for driver " + driver;
    plan.reasons = cdi_reasons(settings, observed);
    if (desired.creates_devices && !is_none && plan.reasons.empty())
        plan.reasons.emplace_back("MIG instances are created");
    const std::vector<std::string> of_operands = validation_reasons(base::member(observed, "validations"));
    if (plan.reasons.empty() && of_operands.empty())
        return plan;
    if (!is_none)
        plan.steps = before_;
    if (plan.reasons.empty())
        plan.title = driver.empty() ? "remove the validation files for NVIDIA's operands"
                                    : "update the validation files for NVIDIA's operands, driver " + driver;
    plan.reasons.insert(plan.reasons.end(), of_operands.begin(), of_operands.end());
    plan.steps.push_back(cdi_publish_step(settings, is_none ? plan.title : std::string()));
    return plan;
}

} // namespace gpuhost::runtime
