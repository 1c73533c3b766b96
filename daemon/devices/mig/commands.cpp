// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/commands.hpp"

#include "daemon/base/parse.hpp"

namespace gpuhost::devices {

namespace {

/// Returns true if one compute instance fills the GPU instance, as nvidia-smi's option -C creates it.
bool is_filled(const GpuInstance& instance, const DriverProfile& profile) {
    return instance.compute_instances.size() == 1 &&
           instance.compute_instances.front().placement == Placement{0, profile.slices};
}

std::string describe(const DriverProfile& profile, const Placement& placement) {
    return std::to_string(profile.id) + ":" + std::to_string(placement.start);
}

/// For compute instances nvidia-smi takes the numbers of nvml.h.
std::string compute_profiles(const GpuInstance& instance) {
    std::vector<std::string> numbers;
    for (const ComputeInstance& one : instance.compute_instances)
        numbers.push_back(std::to_string(one.profile));
    return base::join(numbers, ",");
}

} // namespace

std::vector<std::string> creation_commands(const std::string& uuid, bool split,
                                           const std::vector<Creation>& missing,
                                           const DriverProfiles& profiles) {
    const std::string mig = "nvidia-smi mig -i " + uuid;
    std::vector<std::string> commands;
    std::vector<std::string> filled;
    const auto add_filled = [&] {
        if (!filled.empty())
            commands.push_back(mig + " -cgi " + base::join(filled, ",") + " -C");
        filled.clear();
    };
    if (!split)
        commands.push_back("nvidia-smi -i " + uuid + " -mig 1");
    for (const Creation& creation : missing) {
        const GpuInstance& instance = creation.gpu_instance;
        const auto profile = profiles.find(instance.profile);
        if (profile == profiles.end())
            return {};
        const std::string place = describe(profile->second, instance.placement);
        if (!creation.exists && is_filled(instance, profile->second)) {
            filled.push_back(place);
            continue;
        }
        add_filled(); // the driver gives ids in the order of the creations
        if (!creation.exists)
            commands.push_back(mig + " -cgi " + place);
        if (!instance.compute_instances.empty())
            commands.push_back(mig + " -gi " + std::to_string(instance.id) + " -cci " +
                               compute_profiles(instance));
    }
    add_filled();
    return commands;
}

} // namespace gpuhost::devices
