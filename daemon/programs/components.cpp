// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/components.hpp"

#include "daemon/devices/mig/component.hpp"
#include "daemon/devices/mig/keep_steps.hpp"
#include "daemon/devices/mig/kept.hpp"
#include "daemon/devices/mig/steps.hpp"
#include "daemon/devices/offer.hpp"
#include "daemon/devices/publish/component.hpp"
#include "daemon/devices/publish/steps.hpp"
#include "daemon/runtime/cdi/component.hpp"
#include "daemon/runtime/cdi/steps.hpp"
#include "daemon/runtime/configure/component.hpp"
#include "daemon/runtime/configure/steps.hpp"
#include "daemon/runtime/toolkit/component.hpp"
#include "daemon/runtime/toolkit/steps.hpp"
#include "daemon/runtime/toolkit_settings.hpp"
#include "images/host/mirrors.hpp"
#include "images/host/repositories.hpp"
#include "images/import/bundle_steps.hpp"
#include "images/import/images_component.hpp"
#include "kmod/plan/driver_component.hpp"
#include "kmod/plan/driver_filter.hpp"
#include "kmod/plan/driver_plan.hpp"
#include "kmod/plan/step_kinds.hpp"
#include "kmod/store/unpack_bundle.hpp"

#include <iterator>

namespace gpuhost {

namespace {

/// Returns the steps that other subsystems add to the import of a bundle. All read steps run first: a publish
/// step makes root the owner of the staging directory, so that no read step could write to it.
std::vector<core::Step> bundle_import_steps() {
    std::vector<core::Step> steps = kmod::bundle_import_steps();
    runtime::ToolkitImportSteps toolkit = runtime::toolkit_import_steps();
    steps.insert(steps.begin(), std::move(toolkit.unpack));
    steps.push_back(std::move(toolkit.publish));
    return steps;
}

void append(std::vector<core::Step>& steps, std::vector<core::Step> more) {
    std::move(more.begin(), more.end(), std::back_inserter(steps));
}

/// Adds the steps that keep MIG instances. Their undo precedes that of cdi.withdraw, which publishes the
/// instances and needs their device nodes.
void append_mig(core::StepsAround& around, std::size_t split, bool keep) {
    core::StepsAround mig = devices::mig_steps_around(split, keep);
    if (mig.before.empty())
        return;
    around.before.push_back(
        kmod::driver_devices_back_step("create device nodes of MIG instances if the swap is undone"));
    append(around.before, std::move(mig.before));
    append(around.validated, std::move(mig.validated));
    around.validated.push_back(kmod::driver_devices_step());
}

/// Returns the steps that other subsystems add to a plan that changes the driver. The kubelet gets the GPUs
/// last, because its pods need the CDI specifications.
core::StepsAround steps_around_driver(const base::Root& root, const core::Settings& settings) {
    core::StepsAround around = runtime::cdi_steps_around(settings);
    const bool keep = settings.boolean("Devices", "KeepMig");
    append_mig(around, devices::count_gpus_with_instances(root), keep);
    // After a boot, before the CDI specifications describe the instances.
    if (keep && devices::is_recreation_due(root))
        around.after.insert(
            around.after.begin(),
            {devices::mig_recreate_step(!root.exists("/sys/module/nvidia")), kmod::driver_devices_step()});
    core::StepsAround of_devices =
        devices::devices_steps_around(devices::devices_settings(settings), root.exists(devices::offer_path));
    append(around.first, std::move(of_devices.first));
    append(around.before, std::move(of_devices.before));
    append(around.after, std::move(of_devices.after));
    return around;
}

} // namespace

core::StepKinds step_kinds() {
    core::StepKinds kinds;
    kinds.add(kmod::step_kinds());
    kinds.add(images::bundle_step_kinds());
    kinds.add(runtime::cdi_step_kinds());
    kinds.add(devices::devices_step_kinds());
    kinds.add(devices::mig_step_kinds());
    kinds.add(runtime::toolkit_step_kinds());
    kinds.add(runtime::runtime_step_kind());
    return kinds;
}

std::vector<std::unique_ptr<core::Component>> make_components(const base::Root& root) {
    std::vector<std::unique_ptr<core::Component>> components;
    components.push_back(std::make_unique<images::ImagesComponent>(
        root, bundle_import_steps(),
        [&root](const core::Settings& settings) { return kmod::driver_filter(root, settings); }));
    components.push_back(std::make_unique<kmod::DriverComponent>(
        root, [&root](const core::Settings& settings) { return steps_around_driver(root, settings); }));
    components.push_back(
        std::make_unique<devices::MigComponent>(root, std::vector<core::Step>{kmod::driver_devices_step()}));
    // The component cdi follows the driver, because the CDI specifications describe the driver's devices.
    components.push_back(
        std::make_unique<runtime::CdiComponent>(root, std::vector<core::Step>{kmod::driver_devices_step()}));
    // The kubelet gets the GPUs by the names in the CDI specifications.
    components.push_back(std::make_unique<devices::DevicesComponent>(root));
    // The toolkit precedes the component for runtimes, because the runtime classes of the runtimes run
    // programs of the toolkit.
    components.push_back(std::make_unique<runtime::ToolkitComponent>(root));
    components.push_back(
        std::make_unique<runtime::RuntimeComponent>(root, [&root](const core::Settings& settings) {
            return images::will_lead_containerd(root, settings);
        }));
    return components;
}

} // namespace gpuhost
