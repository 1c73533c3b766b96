// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_choice.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/store/flavour_choice.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

bool is_built(const Observed& observed, const DriverSettings& settings, const DriverVersion& version) {
    return modules_to_use(observed.store, version.version, observed.kernel, settings.flavour,
                          observed.gpus) != nullptr;
}

std::string in_store(const Observed& observed) {
    std::vector<std::string> versions;
    for (const DriverVersion& version : observed.store.versions)
        versions.push_back(version.version);
    return versions.empty() ? "the store is empty" : "the store has " + base::join(versions, ", ");
}

/// Returns the hint: the command for the newest version that has modules for the running kernel, else for the
/// newest that can be built.
std::string command_for(const Observed& observed, const DriverSettings& settings) {
    const auto& versions = observed.store.versions;
    if (versions.empty())
        return "Import one: gpuhostctl driver import FILE…";
    const auto built = std::find_if(versions.begin(), versions.end(), [&](const DriverVersion& version) {
        return is_built(observed, settings, version);
    });
    if (built != versions.end())
        return "Choose one: gpuhostctl driver swap " + built->version;
    const auto source = std::find_if(versions.begin(), versions.end(),
                                     [](const DriverVersion& version) { return !version.sources.empty(); });
    if (source != versions.end())
        return "Build one, then swap to it: gpuhostctl driver build " + source->version;
    return "Import modules for kernel " + observed.kernel + ": gpuhostctl driver import FILE…";
}

} // namespace

std::optional<core::Problem> driver_to_choose(const Observed& observed, const DriverSettings& settings) {
    const std::size_t gpus = gpus_to_drive(observed.gpus).size();
    const std::string& loaded = observed.loaded_version;
    if (gpus == 0 || (!loaded.empty() && observed.store.versions.empty()))
        return std::nullopt;
    const std::string whose = std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
    std::string hint = command_for(observed, settings);
    if (!loaded.empty())
        hint += "; or keep driver " + loaded + ": set Version=preinstalled in gpuhostd.conf";
    return core::Problem{base::Errc::Refused, "no driver is chosen for " + whose + ": " + in_store(observed),
                         hint + "."};
}

} // namespace gpuhost::kmod
