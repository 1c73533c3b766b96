// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/contains.hpp"
#include "kmod/module/graph.hpp"
#include "kmod/module/headers.hpp"
#include "kmod/plan/driver_plan.hpp"
#include "kmod/store/loaded_set.hpp"

#include <algorithm>

namespace gpuhost::kmod {
namespace {

using base::contains;
using base::Errc;
using core::Problem;
using Parameters = std::map<std::string, std::string>;

std::string parameters_of(const Parameters& parameters, const std::string& module) {
    const auto found = parameters.find(module);
    return found == parameters.end() ? std::string() : found->second;
}

std::string how_to_get_modules(const Observed& observed, const std::string& kernel,
                               const std::string& version) {
    const DriverVersion* const known = observed.store.find(version);
    if (known == nullptr || known->sources.empty())
        return "Import modules for it, or the source of this version: gpuhostctl driver import FILE….";
    const std::string build = "gpuhostctl driver build " + version + " --kernel " + kernel;
    const std::vector<Problem> lacking = observed.build_problems(kernel);
    return lacking.empty() ? "Build them: " + build + "."
                           : ways_to_modules(lacking, build, version, kernel == observed.kernel);
}

/// Returns the loaded modules that module `name` uses. sysfs lists only the users of each module, so this
/// function searches all loaded modules.
std::vector<std::string> used_by(const std::string& name, const std::vector<LoadedModule>& loaded) {
    std::vector<std::string> used;
    for (const LoadedModule& module : loaded)
        if (contains(module.holders, name))
            used.push_back(module.name);
    return used;
}

/// Returns the path of a loaded module's file in the store; empty if the store does not have it.
std::string path_in_store(const Observed& observed, const LoadedModule& loaded) {
    const ModuleSet* const set = loaded_set(observed.store, observed.kernel, loaded);
    return set == nullptr ? std::string() : set->path + "/" + file_of(*set, loaded)->file;
}

/// Returns the names of the modules in Modules=; if that is empty, only nvidia.
std::vector<std::string> wanted_names(const DriverSettings& settings) {
    if (settings.modules.empty())
        return {"nvidia"};
    std::vector<std::string> names;
    for (const std::string& word : settings.modules)
        names.push_back(module_name(word));
    return names;
}

/// Returns `names` and all modules of the set that they depend on, directly or not.
std::vector<std::string> with_dependencies(std::vector<std::string> names, const ModuleSet& set) {
    const auto is_in_set = [&](const std::string& name) {
        return std::any_of(set.modules.begin(), set.modules.end(),
                           [&](const ModuleFile& file) { return file.name == name; });
    };
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const ModuleFile& file : set.modules)
            for (const std::string& used : file.depends)
                if (const std::string name = module_name(used);
                    file.name == names[i] && is_in_set(name) && !contains(names, name))
                    names.push_back(name);
    return names;
}

} // namespace

ModuleGoal goal_for(const ModuleSet& set, const std::string& version, const DriverSettings& settings,
                    const Observed& observed, std::vector<Problem>& problems) {
    const std::vector<std::string> required = with_dependencies(wanted_names(settings), set);
    const Parameters parameters = split_parameters(settings.parameters);
    ModuleGoal goal{version, {}};
    std::vector<std::string> found;
    for (const ModuleFile& file : set.modules) {
        const bool was_loaded =
            std::any_of(observed.loaded.begin(), observed.loaded.end(),
                        [&](const LoadedModule& module) { return module.name == file.name; });
        if (!was_loaded && !contains(required, file.name))
            continue;
        GoalModule module{file.name,
                          set.path + "/" + file.file,
                          file.version,
                          file.srcversion,
                          {},
                          parameters_of(parameters, file.name),
                          !contains(required, file.name)};
        for (const std::string& name : file.depends)
            module.depends.push_back(module_name(name));
        goal.modules.push_back(std::move(module));
        found.push_back(file.name);
    }
    for (const std::string& name : required)
        if (!contains(found, name))
            problems.push_back(
                {Errc::BadContent,
                 "module '" + name + "' not found in the module set of driver " + version + " for " +
                     set.kernel,
                 "Import a complete set, or remove the module from Modules= in gpuhostd.conf."});
    for (const LoadedModule& loaded : observed.loaded)
        if (is_others(observed.store, loaded.name))
            goal.modules.push_back({loaded.name,
                                    {},
                                    loaded.version,
                                    loaded.srcversion,
                                    used_by(loaded.name, observed.loaded),
                                    {},
                                    true});
    return goal;
}

ModuleGoal goal_as_loaded(const Observed& observed) {
    const Parameters parameters = parse_modprobe_options(observed.options);
    ModuleGoal goal{observed.loaded_version, {}};
    for (const LoadedModule& loaded : observed.loaded)
        goal.modules.push_back({loaded.name, path_in_store(observed, loaded), loaded.version,
                                loaded.srcversion, used_by(loaded.name, observed.loaded),
                                parameters_of(parameters, loaded.name),
                                loaded.name == "nouveau" || is_others(observed.store, loaded.name)});
    return goal;
}

std::optional<Driver> driver_of(const Store& store, const Generation& generation) {
    const ModuleSet* const modules = store.find_modules(generation.version, generation.modules);
    const Userland* const userland = store.find_userland(generation.version, generation.userland);
    if (modules == nullptr || (userland == nullptr && !generation.userland.empty()))
        return std::nullopt;
    return Driver{generation, userland != nullptr ? userland->path : std::string(), modules->path};
}

std::optional<Generation> previous_of(const Store& store, const Selection* before, const Generation& next) {
    if (before == nullptr)
        return std::nullopt;
    const Generation& now = before->generation;
    const ModuleSet* const from = store.find_modules(now.version, now.modules);
    const ModuleSet* const to = store.find_modules(next.version, next.modules);
    // A set that was removed from the store can't be loaded by a rollback either.
    const bool same_flavour = from == nullptr || (to != nullptr && from->flavour == to->flavour);
    const bool replaces = now.version == next.version && now.userland == next.userland && same_flavour;
    return now == next || replaces ? before->previous : now;
}

std::optional<Driver> selected_driver(const Observed& observed, const std::string& flavour,
                                      const std::string& version) {
    const Selection* const selection = observed.selection();
    if (selection == nullptr || selection->generation.version != version)
        return std::nullopt;
    const ModuleSet* const modules = observed.store.find_modules(version, selection->generation.modules);
    if (modules == nullptr || (flavour != "any" && flavour != modules->flavour))
        return std::nullopt;
    return driver_of(observed.store, selection->generation);
}

std::optional<Driver> find_driver(const Observed& observed, const std::string& kernel,
                                  const std::string& flavour, const std::string& version,
                                  std::vector<Problem>& problems) {
    const DriverVersion* const known = observed.store.find(version);
    if (known == nullptr) {
        problems.push_back({Errc::NotFound, "driver " + version + " is not in the driver store",
                            "Import it: gpuhostctl driver import FILE…."});
        return std::nullopt;
    }
    const std::string only = flavour == "any" ? std::string() : flavour;
    const ModuleSet* const modules = observed.store.modules_for(version, kernel, only);
    if (modules == nullptr) {
        problems.push_back({Errc::Unsupported,
                            "driver " + version + " has no " + (only.empty() ? "" : only + " ") +
                                "modules for kernel " + kernel,
                            how_to_get_modules(observed, kernel, version)});
        return std::nullopt;
    }
    if (known->userland.empty())
        return Driver{{version, {}, modules->digest}, {}, modules->path};
    const Userland& userland = known->userland.front();
    return Driver{{version, userland.digest, modules->digest}, userland.path, modules->path};
}

} // namespace gpuhost::kmod
