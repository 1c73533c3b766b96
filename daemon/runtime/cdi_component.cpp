// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_component.hpp"

#include "daemon/runtime/cdi_record.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/cdi_steps.hpp"

namespace gpuhost::runtime {

using base::Json;
using core::Plan;

namespace {

constexpr auto driver_of = [](const Json& inputs) { return base::string_or(inputs, "driver", ""); };

std::string plural_are(const std::string& what, const Json& now, const Json& then, std::string_view key) {
    return base::member(now, key) == base::member(then, key) ? "" : what + " changed since";
}

/// Why the specifications that `record` tells of are not those of now, as phrases.
std::vector<std::string> differences(const CdiSettings& settings, const Json& inputs,
                                     const CdiRecord& record) {
    std::vector<std::string> found;
    const std::string then = driver_of(record.inputs);
    const std::string now = driver_of(inputs);
    if (then != now)
        found.push_back("containers are told of driver " + then + ", and " + now + " is loaded");
    for (const std::string& difference :
         {plural_are("the driver's libraries have", inputs, record.inputs, "userland"),
          plural_are("GPUs have", inputs, record.inputs, "gpus"),
          plural_are("device nodes have", inputs, record.inputs, "nodes"),
          plural_are("sockets of the driver's daemons have", inputs, record.inputs, "sockets")})
        if (then == now && !difference.empty())
            found.push_back(difference);
    if (record.directory != settings.directory || record.groups != settings.groups)
        found.emplace_back("the settings in section [CDI] are others");
    return found;
}

/// What is right for `inputs`, and why what there is is not.
Plan cdi_plan(const CdiSettings& settings, const Json& inputs, const std::optional<CdiRecord>& record,
              const std::vector<std::string>& changed) {
    Plan plan;
    plan.kind = "cdi.converge";
    const std::string driver = driver_of(inputs);
    if (!settings.enable || driver.empty()) {
        plan.title = "tell containers of no driver";
        if (!record || (driver.empty() && record->files.empty()))
            return plan;
        plan.reasons.emplace_back(settings.enable ? "no driver is loaded" : "section [CDI] says Enable=no");
        plan.steps.push_back(cdi_withdraw_step(settings));
        return plan;
    }
    plan.title = "tell containers of driver " + driver;
    plan.reasons = record ? differences(settings, inputs, *record)
                          : std::vector<std::string>{"containers have not been told of driver " + driver};
    if (settings.repair)
        for (const std::string& path : changed)
            plan.reasons.push_back("another program has changed '" + path + "'");
    if (!plan.reasons.empty())
        plan.steps.push_back(cdi_publish_step(settings));
    return plan;
}

} // namespace

base::Result<Json> CdiComponent::observe(const core::Settings& settings) {
    const CdiSettings cdi = cdi_settings(settings);
    const auto record = read_cdi_record(root_);
    return Json{{"enable", cdi.enable},
                {"directory", cdi.directory},
                {"inputs", cdi_inputs(root_)},
                {"record", record ? to_json(*record) : Json()},
                {"changed", record ? changed_files(root_, *record) : std::vector<std::string>()}};
}

Plan CdiComponent::plan(const core::Desired& desired, const Json& observed) const {
    if (!desired.request.empty())
        return {};
    return cdi_plan(cdi_settings(desired.settings), base::member(observed, "inputs"),
                    cdi_record_from_json(base::member(observed, "record")),
                    base::strings_or_empty(observed, "changed"));
}

} // namespace gpuhost::runtime
