// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_component.hpp"

#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/cdi_state.hpp"
#include "daemon/runtime/cdi_steps.hpp"

namespace gpuhost::runtime {

using base::Json;
using core::Plan;

base::Result<Json> CdiComponent::observe(const core::Settings& settings) {
    Json observed = observe_cdi(root_);
    const CdiSettings cdi = cdi_settings(settings);
    observed["enable"] = cdi.enable;
    observed["directory"] = cdi.directory;
    return observed;
}

Plan CdiComponent::plan(const core::Desired& desired, const Json& observed) const {
    if (!desired.request.empty())
        return {};
    const CdiSettings settings = cdi_settings(desired.settings);
    const std::string driver = observed_driver(observed);
    const bool is_none = !settings.enable || driver.empty();
    Plan plan;
    plan.kind = "cdi.converge";
    plan.title = is_none ? "tell containers of no driver" : "tell containers of driver " + driver;
    plan.reasons = cdi_reasons(settings, observed);
    if (plan.reasons.empty())
        return plan;
    if (!is_none)
        plan.steps = before_;
    plan.steps.push_back(cdi_publish_step(settings, is_none ? plan.title : std::string()));
    return plan;
}

} // namespace gpuhost::runtime
