// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi_component.hpp"

#include "daemon/runtime/cdi_record.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/cdi_steps.hpp"

#include <array>

namespace gpuhost::runtime {

using base::Json;
using core::Plan;

namespace {

constexpr auto driver_of = [](const Json& inputs) { return base::string_or(inputs, "driver", ""); };

struct Input {
    std::string_view key;
    std::string_view changed;
};
constexpr std::array input_names{Input{"userland", "the driver's libraries have changed since"},
                                 Input{"libraries", "the host's libraries have changed since"},
                                 Input{"gpus", "GPUs have changed since"},
                                 Input{"instances", "instances of MIG have changed since"},
                                 Input{"nodes", "device nodes have changed since"},
                                 Input{"sockets", "sockets of the driver's daemons have changed since"},
                                 Input{"files", "the configuration of GPUDirect Storage has changed since"}};

/// Why the specifications that `record` tells of are not those of now.
std::vector<std::string> differences(const CdiSettings& settings, const Json& inputs,
                                     const CdiRecord& record) {
    std::vector<std::string> found;
    const std::string then = driver_of(record.inputs);
    const std::string now = driver_of(inputs);
    if (then != now)
        found.push_back("containers are told of driver " + then + ", and " + now + " is loaded");
    for (const auto& [key, changed] : input_names)
        if (then == now && base::member(inputs, key) != base::member(record.inputs, key))
            found.emplace_back(changed);
    if (record.directory != settings.directory || record.groups != settings.groups)
        found.emplace_back("the settings in section [CDI] are others");
    if (record.failed)
        found.push_back(record.problem);
    return found;
}

/// Why what there is has to go.
std::vector<std::string> reasons_for_none(const CdiSettings& settings, const CdiRecord& record) {
    if (!settings.enable)
        return {"section [CDI] says Enable=no"};
    return record.files.empty() ? std::vector<std::string>()
                                : std::vector<std::string>{"no driver is loaded"};
}

} // namespace

base::Result<Json> CdiComponent::observe(const core::Settings& settings) {
    const CdiSettings cdi = cdi_settings(settings);
    const auto record = read_cdi_record(root_);
    return Json{{"enable", cdi.enable},
                {"directory", cdi.directory},
                {"inputs", cdi_inputs(root_)},
                {"record", record ? to_json(*record) : Json()},
                {"missing", record ? missing_files(root_, *record) : std::vector<std::string>()},
                {"changed", record ? changed_files(root_, *record) : std::vector<std::string>()}};
}

Plan CdiComponent::plan(const core::Desired& desired, const Json& observed) const {
    if (!desired.request.empty())
        return {};
    const CdiSettings settings = cdi_settings(desired.settings);
    const Json& inputs = base::member(observed, "inputs");
    const auto record = cdi_record_from_json(base::member(observed, "record"));
    const std::string driver = driver_of(inputs);
    Plan plan;
    plan.kind = "cdi.converge";
    if (!settings.enable || driver.empty()) {
        plan.title = "tell containers of no driver";
        if (record)
            plan.reasons = reasons_for_none(settings, *record);
        if (!plan.reasons.empty())
            plan.steps.push_back(cdi_withdraw_step(settings));
        return plan;
    }
    plan.title = "tell containers of driver " + driver;
    plan.reasons = record ? differences(settings, inputs, *record)
                          : std::vector<std::string>{"containers have not been told of driver " + driver};
    for (const std::string& path : base::strings_or_empty(observed, "missing"))
        plan.reasons.push_back("'" + path + "' is not there");
    for (const std::string& path : base::strings_or_empty(observed, "changed"))
        if (settings.repair)
            plan.reasons.push_back("another program has changed '" + path + "'");
    if (plan.reasons.empty())
        return plan;
    plan.steps = before_;
    plan.steps.push_back(cdi_publish_step(settings));
    return plan;
}

} // namespace gpuhost::runtime
