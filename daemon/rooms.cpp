// SPDX-License-Identifier: Apache-2.0
#include "daemon/rooms.hpp"

#include "daemon/runtime/cdi_component.hpp"
#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/cdi_steps.hpp"
#include "daemon/runtime/runtime_component.hpp"
#include "daemon/runtime/runtime_settings.hpp"
#include "daemon/runtime/runtime_steps.hpp"
#include "images/bundle_steps.hpp"
#include "images/images_component.hpp"
#include "images/images_settings.hpp"
#include "images/mirrors.hpp"
#include "images/peers_settings.hpp"
#include "images/registry_settings.hpp"
#include "images/repositories.hpp"
#include "kmod/driver_component.hpp"
#include "kmod/driver_settings.hpp"
#include "kmod/driver_steps.hpp"
#include "kmod/driver_wish.hpp"
#include "kmod/store_steps.hpp"
#include "kmod/take.hpp"

namespace gpuhost {

void add_step_kinds(core::StepKinds& kinds) {
    kmod::register_store_steps(kinds);
    kmod::register_driver_steps(kinds);
    images::register_bundle_steps(kinds);
    runtime::register_cdi_steps(kinds);
    runtime::register_runtime_steps(kinds);
}

std::vector<std::unique_ptr<core::Component>> make_components(const base::Root& root) {
    std::vector<std::unique_ptr<core::Component>> components;
    components.push_back(std::make_unique<images::ImagesComponent>(
        root, kmod::bundle_import_steps(),
        [&root](const core::Settings& settings) { return kmod::driver_wish(root, settings); }));
    components.push_back(std::make_unique<kmod::DriverComponent>(root, runtime::cdi_steps_around));
    components.push_back(std::make_unique<runtime::CdiComponent>(
        root, std::vector<core::Step>{kmod::driver_devices_step()})); // behind the driver, of which it tells
    components.push_back(std::make_unique<runtime::RuntimeComponent>(root));
    return components;
}

std::vector<std::span<const core::SettingKey>> setting_keys() {
    return {kmod::driver_setting_keys(),   images::images_setting_keys(),
            images::mirror_setting_keys(), images::registry_setting_keys(),
            images::peers_setting_keys(),  images::repository_setting_keys(),
            runtime::cdi_setting_keys(),   runtime::runtime_setting_keys()};
}

} // namespace gpuhost
