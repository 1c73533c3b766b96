// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/component.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/mig/keep_steps.hpp"
#include "daemon/devices/mig/kept.hpp"

#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using core::Plan;

namespace {

constexpr const char* hint =
    "Create them with nvidia-smi, or restart the host to try again. To keep what the GPUs "
    "have now instead: gpuhostctl apply --only mig.";

Json document_of(const KeptMig& kept) {
    Json gpus = Json::array();
    for (const MigGpu& gpu : kept.gpus)
        gpus.push_back({{"uuid", gpu.uuid}, {"address", gpu.address}, {"devices", count_devices(gpu)}});
    return {{"gpus", std::move(gpus)}, {"instances", kept.instances}, {"problems", kept.problems}};
}

Plan& add_step(Plan& plan, std::string title, const char* mode, std::string reason) {
    plan.title = title;
    plan.steps.push_back(mig_record_step(std::move(title), mode));
    plan.reasons.push_back(std::move(reason));
    return plan;
}

/// Compares kept and present instances. `named`: an administrator has named the component, and so decides
/// that the present ones count.
void compare(const Json& observed, bool named, Plan& plan) {
    const Json& kept = base::member(observed, "kept");
    const std::string error = base::string_or(observed, "error", "");
    const auto problems = base::strings_or_empty(kept, "problems");
    const auto instances = base::strings_or_empty(observed, "instances");
    const bool differ = instances != base::strings_or_empty(kept, "instances");
    // Instances with the same names may have other profiles.
    if (named && (differ || !instances.empty() || !error.empty() || !problems.empty())) {
        add_step(plan, "keep the present MIG instances", "replace", "an administrator forgets the others");
        return;
    }
    if (!error.empty()) {
        plan.undecided = core::Problem{Errc::Refused, error,
                                       "Keep the present instances instead: gpuhostctl apply --only mig."};
        return;
    }
    if (differ)
        add_step(plan, "keep the present MIG instances", "add", "the MIG instances have changed");
    if (!problems.empty())
        plan.undecided = core::Problem{Errc::Refused, base::join(problems, "; "), hint};
}

} // namespace

base::Result<core::Observation> MigComponent::observe(const core::Settings& settings) {
    const auto kept = read_kept(root_);
    return Json{{"keep", settings.boolean("Devices", "KeepMig")},
                {"driver", root_.read_line("/sys/module/nvidia/version").value_or(std::string())},
                {"instances", listed_instances(root_)},
                {"due", is_recreation_due(root_)},
                {"error", kept ? "" : kept.error().message},
                {"kept", kept && *kept ? document_of(**kept) : Json()}};
}

Plan MigComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Json&>(observation);
    Plan plan;
    plan.kind = "mig.converge";
    plan.title = "keep MIG instances";
    if (!desired.request.empty())
        return {};
    const core::Setting* const version = desired.settings.find("Driver", "Version");
    if (version != nullptr && version->value == "off") // gpuhostd leaves the GPUs alone
        return plan;
    const bool is_any =
        base::member(observed, "kept").is_object() || !base::string_or(observed, "error", "").empty();
    if (!base::bool_or(observed, "keep", false))
        return is_any ? add_step(plan, "forget the kept MIG instances", "remove",
                                 "section [Devices] has KeepMig=no")
                      : plan;
    // Without a driver nothing is known of the GPUs. If the plan changes the driver, it has these steps.
    if (base::string_or(observed, "driver", "").empty() || desired.driver_changes)
        return plan;
    if (!base::bool_or(observed, "due", false)) {
        compare(observed, desired.named, plan);
        return plan;
    }
    plan.title = "create the MIG instances that the GPUs had before the restart";
    plan.reasons.emplace_back("a restart of the host destroys MIG instances");
    plan.steps = nodes_;
    plan.steps.push_back(mig_recreate_step(false));
    plan.steps.insert(plan.steps.end(), nodes_.begin(), nodes_.end());
    plan.creates_devices = true;
    return plan;
}

} // namespace gpuhost::devices
