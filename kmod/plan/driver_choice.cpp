// SPDX-License-Identifier: Apache-2.0
#include "kmod/plan/driver_choice.hpp"

#include "daemon/base/parse.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/plan/requests.hpp"
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

std::string without_stop(const std::string& hint) {
    return hint.substr(0, hint.find_last_not_of('.') + 1);
}

/// Returns how to get modules if no version can be built: what the newest version with a source lacks, if
/// there is one.
std::string hint_without_build(const Observed& observed, const DriverSettings& of_build) {
    for (const DriverVersion& version : observed.store.versions) {
        if (version.sources.empty())
            continue;
        const auto problems = build_plan(version.version, {}, false, of_build, observed).problems;
        if (!problems.empty() && !problems.front().hint.empty())
            return without_stop(problems.front().hint);
    }
    return "Bring in modules for kernel " + observed.kernel +
           ", or the source of a version: gpuhostctl upgrade FILE…";
}

/// Returns the hint: a command for the newest version that has modules for the running kernel, else for the
/// newest whose source can be built. Names first what a build lacks.
std::string command_for(const Observed& observed, const DriverSettings& settings) {
    const auto& versions = observed.store.versions;
    if (versions.empty())
        return "Bring one in: gpuhostctl upgrade FILE…";
    const std::string choose = "Choose one: gpuhostctl upgrade ";
    const std::string configure = ", or set Version= in gpuhostd.conf";
    const auto built = std::find_if(versions.begin(), versions.end(), [&](const DriverVersion& version) {
        return is_built(observed, settings, version);
    });
    if (built != versions.end())
        return choose + built->version + configure;
    DriverSettings of_build; // without a signing key, whose problems a build reports
    of_build.flavour = settings.flavour;
    const auto source = std::find_if(versions.begin(), versions.end(), [&](const DriverVersion& version) {
        return build_plan(version.version, {}, false, of_build, observed).problems.empty();
    });
    if (source == versions.end())
        return hint_without_build(observed, of_build);
    const std::vector<core::Problem> lacking = observed.build_problems(observed.kernel);
    if (lacking.empty())
        return choose + source->version + configure;
    return without_stop(
        ways_to_modules(lacking, "gpuhostctl upgrade " + source->version, source->version, true));
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
