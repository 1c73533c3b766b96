// SPDX-License-Identifier: Apache-2.0
#include "kmod/driver_component.hpp"

#include "kmod/client_units.hpp"
#include "kmod/devices.hpp"
#include "kmod/door.hpp"
#include "kmod/requests.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Json;
using core::Plan;

/// What does not lead to the selected driver. What modprobe's options should be only the settings know.
std::vector<std::string> wrong_files(const base::Root& root, const Observed& observed) {
    std::vector<std::string> wrong;
    const Selection* const selection = observed.selection();
    const auto driver =
        selection != nullptr ? driver_of(observed.store, selection->generation) : std::nullopt;
    if (!driver)
        return wrong;
    std::vector<content::FileOperation> files = generation_files(*driver);
    for (content::FileOperation& file :
         selection_files(observed.kernel, driver, tools_of(root, driver), {}, {}).before_index)
        if (file.path != options_file)
            files.push_back(std::move(file));
    for (const content::FileOperation& file : files)
        if (!is_done(root, file))
            wrong.push_back(file.path);
    return wrong;
}

Plan invalid_request(const std::string& request) {
    Plan plan;
    plan.kind = "driver." + request;
    plan.title = plan.kind;
    plan.problems.push_back({base::Errc::InvalidArgument, "the driver has no request '" + request + "'", ""});
    return plan;
}

} // namespace

base::Result<Json> DriverComponent::observe(const core::Settings& settings) {
    Observed observed;
    GPUHOST_TRY(kernel, kernel_release(root_));
    observed.kernel = kernel;
    observed.gpus = nvidia_gpus(root_);
    observed.loaded = loaded_driver(root_);
    for (const LoadedModule& module : observed.loaded)
        if (module.name == "nvidia")
            observed.loaded_version = module.version;
    GPUHOST_TRY(store, read_store(root_));
    observed.store = std::move(store);
    // What a kernel that is gone would boot is in nobody's way.
    std::erase_if(observed.store.selected, [&](const auto& selected) {
        return selected.first != kernel && !kernel_is_installed(root_, selected.first);
    });
    observed.configured = driver_settings(settings).version;
    observed.units = active_units(root_, driver_settings(settings).client_units);
    observed.wrong_files = wrong_files(root_, observed);
    observed.options = root_.read(options_file).value_or(std::string());
    observed.current = current_userland(root_);
    observed.devices_complete = devices_look_complete(root_);
    observed.door_shut = door_is_shut(root_);
    return to_json(observed);
}

Plan DriverComponent::plan(const core::Desired& desired, const Json& value) const {
    const Observed observed = observed_from_json(value);
    if (!desired.request.empty() && !desired.request.contains("driver"))
        return {};
    const Json& request = base::member(desired.request, "driver");
    const std::string kind = base::string_or(request, "request", "");
    if (kind.empty() || kind == "swap" || kind == "rollback")
        return driver_plan(desired, observed, around_ ? around_(desired.settings) : core::StepsAround());
    const std::string version = base::string_or(request, "version", "");
    if (kind == "import")
        return import_plan(base::strings_or_empty(request, "files"));
    if (kind == "build")
        return build_plan(version, base::strings_or_empty(request, "kernels"),
                          base::bool_or(request, "again", false), driver_settings(desired.settings).flavour,
                          value);
    if (kind == "remove")
        return remove_plan(version, value);
    if (kind == "verify")
        return verify_plan(version, value);
    return invalid_request(kind);
}

bool DriverComponent::converge_at_start(const Json& value) const {
    const Observed observed = observed_from_json(value);
    const Selection* const selection = observed.selection();
    // A driver that somebody loaded in place of the selected one is theirs; to take it away needs a person's
    // word.
    return observed.loaded_version.empty() ||
           (selection != nullptr && observed.loaded_version == selection->generation.version);
}

} // namespace gpuhost::kmod
