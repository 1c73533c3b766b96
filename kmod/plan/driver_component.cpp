// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_component.hpp"

#include "daemon/base/kernels.hpp"
#include "kmod/boot/initramfs.hpp"
#include "kmod/device/devices.hpp"
#include "kmod/load/autoload_block.hpp"
#include "kmod/load/console.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/plan/clean_plan.hpp"
#include "kmod/plan/requests.hpp"
#include "kmod/plan/select_plan.hpp"
#include "kmod/store/flavour_choice.hpp"
#include "kmod/units/client_units.hpp"
#include "kmod/units/companion_services.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::Json;
using core::Plan;

/// Returns the paths of selection files (kmod/boot/selection_files.hpp) that do not lead to the selected
/// driver. options_file is not checked here, because its content depends on the settings.
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

/// Plans the request "build". "all-kernels" means all installed kernels with headers; the plan reports the
/// others.
Plan build_request(const Json& request, const DriverSettings& settings, const Observed& observed) {
    std::string version = base::string_or(request, "version", "");
    if (version.empty())
        version = version_in_use(settings, observed);
    std::vector<std::string> kernels = base::strings_or_empty(request, "kernels");
    std::vector<std::string> without;
    if (base::bool_or(request, "all-kernels", false))
        for (const InstalledKernel& kernel : observed.kernels)
            (kernel.headers ? kernels : without).push_back(kernel.release);
    Plan plan = build_plan(version, kernels, base::bool_or(request, "again", false), settings, observed);
    for (const std::string& kernel : without)
        plan.reasons.push_back("kernel " + kernel + " is left out: its headers are not installed");
    return plan;
}

/// Adds the host's kernels to the arguments of store.stage, whose sandbox hides /lib/modules. The step notes
/// modules for a kernel that is not installed.
Plan with_kernels(Plan plan, const Observed& observed) {
    for (core::Step& step : plan.steps)
        if (step.kind == "store.stage") {
            step.args["kernel"] = observed.kernel;
            for (const InstalledKernel& kernel : observed.kernels)
                step.args["kernels"].push_back(kernel.release);
        }
    return plan;
}

Plan invalid_request(const std::string& request) {
    Plan plan;
    plan.kind = "driver." + request;
    plan.title = plan.kind;
    plan.problems.push_back(
        {base::Errc::InvalidArgument, "unknown request '" + request + "' of the driver", ""});
    return plan;
}

} // namespace

base::Result<core::Observation> DriverComponent::observe(const core::Settings& settings) {
    Observed observed;
    GPUHOST_TRY(kernel, kernel_release(root_));
    observed.kernel = kernel;
    GPUHOST_TRY(system, base::Root::open("/")); // a build runs the programs of this system
    for (const std::string& release : base::installed_kernels(root_))
        observed.kernels.push_back({release, root_.exists("/lib/modules/" + release + "/build/Makefile"),
                                    build_problems(root_, release, system)});
    observed.removed_kernels = find_removed_kernels(root_, kernel);
    observed.gpus = nvidia_gpus(root_);
    observed.loaded = loaded_driver(root_);
    for (const LoadedModule& module : observed.loaded)
        if (module.name == "nvidia")
            observed.loaded_version = module.version;
    GPUHOST_TRY(store, read_store(root_));
    observed.store = std::move(store);
    // Leaves out selections of kernels that are not installed; Observed::removed_kernels has these.
    std::erase_if(observed.store.selected, [&](const auto& selected) {
        return selected.first != kernel && !base::kernel_is_installed(root_, selected.first);
    });
    observed.configured = settings.string("Driver", "Version");
    observed.new_kernel = settings.string("Driver", "NewKernel");
    observed.units = active_units(root_, driver_settings(settings).client_units);
    observed.wrong_files = wrong_files(root_, observed);
    observed.options = root_.read(options_file).value_or(std::string());
    observed.current = current_userland(root_);
    observed.packaged_units = packaged_units(root_);
    if (const auto console = driver_console(root_); console && console->bound)
        observed.console = console->name;
    observed.initramfs = unknown_initramfs(root_, observed.kernels);
    observed.devices_complete = devices_complete(root_);
    observed.autoload_blocked = autoload_blocked(root_);
    return observed;
}

Json DriverComponent::document(const core::Observation& observed) const {
    return to_json(std::any_cast<const Observed&>(observed));
}

Plan DriverComponent::plan(const core::Desired& desired, const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Observed&>(observation);
    if (!desired.request.empty() && !desired.request.contains("driver"))
        return {};
    const Json& request = base::member(desired.request, "driver");
    const std::string kind = base::string_or(request, "request", "");
    if (kind.empty() || kind == "swap" || kind == "rollback")
        return driver_plan(desired, observed, around_ ? around_(desired.settings) : core::StepsAround());
    const std::string version = base::string_or(request, "version", "");
    if (kind == "import") {
        const std::vector<std::string> in_use = versions_in_use(observed);
        return with_kernels(import_plan(base::strings_or_empty(request, "files"), version,
                                        base::bool_or(request, "only_new", false) ? &in_use : nullptr),
                            observed);
    }
    if (kind == "build")
        return build_request(request, driver_settings(desired.settings), observed);
    if (kind == "select")
        return select_plan(version, base::strings_or_empty(request, "kernels"),
                           driver_settings(desired.settings), observed);
    if (kind == "deselect")
        return deselect_plan(driver_settings(desired.settings), observed,
                             around_ ? around_(desired.settings) : core::StepsAround());
    if (kind == "remove")
        return remove_plan(version, driver_settings(desired.settings).pins, observed);
    if (kind == "clean")
        return clean_plan(driver_settings(desired.settings), observed);
    if (kind == "verify")
        return verify_plan(version, observed);
    return invalid_request(kind);
}

std::optional<Plan> DriverComponent::before_converging(const core::Settings& settings,
                                                       const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Observed&>(observation);
    const DriverSettings driver = driver_settings(settings);
    const std::string version = version_in_use(driver, observed);
    if (!driver.build_at_boot || driver.owner != DriverOwner::Gpuhost || version.empty() ||
        !observed.has_headers(observed.kernel) || gpus_to_drive(observed.gpus).empty())
        return std::nullopt;
    if (modules_to_use(observed.store, version, observed.kernel, driver.flavour, observed.gpus) != nullptr)
        return std::nullopt;
    return build_plan(version, {observed.kernel}, false, driver, observed);
}

bool DriverComponent::converge_at_start(const core::Observation& observation) const {
    const auto& observed = std::any_cast<const Observed&>(observation);
    if (observed.configured == "preinstalled" || observed.configured == "off")
        return false;
    const Selection* const selection = observed.selection();
    // If the loaded driver is not the selected one, gpuhostd did not load it. It is then replaced only after
    // a request.
    return observed.loaded_version.empty() ||
           (selection != nullptr && observed.loaded_version == selection->generation.version);
}

} // namespace gpuhost::kmod
