// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/choice.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/core/cluster_desired.hpp"

#include <algorithm>

namespace gpuhost::runtime {

namespace {

const std::string current_programs = std::string(toolkit_current) + "/usr/bin";

ToolkitChoice of_store(const ToolkitSettings& settings, const ToolkitSet& set) {
    return {ToolkitSource::Store,
            set.manifest.version,
            set.path,
            settings.directory.empty() ? current_programs : settings.directory,
            settings.directory.empty() ? set.path + "/usr/bin" : settings.directory,
            {}};
}

ToolkitChoice preinstalled(const ToolkitSettings& settings) {
    const std::string directory = preinstalled_directory(settings);
    return {ToolkitSource::Preinstalled, {}, {}, directory, directory, {}};
}

/// Returns the result for a version that is not in the store: the selected toolkit stays in use, with a
/// problem.
ToolkitChoice unavailable(const ToolkitSettings& settings, const ToolkitSet* selected) {
    ToolkitChoice choice = selected != nullptr ? of_store(settings, *selected) : ToolkitChoice();
    choice.problem = "toolkit " + settings.version + " is required by " +
                     (settings.of_cluster ? std::string(core::cluster_policy_source) : "[Toolkit] Version=") +
                     ", but not in the store";
    return choice;
}

/// Returns the store's problem with the selected toolkit; nullptr if it has none.
const std::string* problem_of(const ToolkitStore& store, const std::string& current) {
    const auto found =
        std::find_if(store.problems.begin(), store.problems.end(), [&](const std::string& problem) {
            return problem.find(current + "/") != std::string::npos;
        });
    return current.empty() || store.at(current) != nullptr || found == store.problems.end() ? nullptr
                                                                                            : &*found;
}

} // namespace

std::string_view name_of(ToolkitSource source) {
    switch (source) {
    case ToolkitSource::Off:
        return "off";
    case ToolkitSource::Preinstalled:
        return "preinstalled";
    case ToolkitSource::Store:
        return "store";
    }
    return {};
}

std::string preinstalled_directory(const ToolkitSettings& settings) {
    return settings.directory.empty() ? "/usr/bin" : settings.directory;
}

bool is_toolkit_in(const base::Root& root, const std::string& directory) {
    return root.stat(directory + "/" + std::string(toolkit_program)).has_value();
}

ToolkitChoice choose_toolkit(const ToolkitSettings& settings, const ToolkitStore& store,
                             const std::string& current, bool is_preinstalled) {
    if (settings.version == "off")
        return {};
    if (settings.version == "preinstalled")
        return preinstalled(settings);
    if (settings.version != "auto") {
        const ToolkitSet* const set = store.find(settings.version);
        return set != nullptr ? of_store(settings, *set) : unavailable(settings, store.at(current));
    }
    if (const std::string* const problem = problem_of(store, current); problem != nullptr)
        return {ToolkitSource::Store,
                {},
                current,
                current_programs,
                current + "/usr/bin",
                "the selected toolkit can't be read: " + *problem};
    // If [Runtime] ToolkitDirectory= names a directory outside of the store, the toolkit there is used.
    const bool is_elsewhere = !settings.directory.empty() && is_preinstalled &&
                              !base::starts_with(settings.directory, toolkit_directory);
    const ToolkitSet* const newest = is_elsewhere ? nullptr : store.find();
    if (newest != nullptr)
        return of_store(settings, *newest);
    return is_preinstalled || !settings.directory.empty() ? preinstalled(settings) : ToolkitChoice();
}

ToolkitPlace place_of(const ToolkitChoice& choice) {
    return {choice.directory, choice.programs, choice.directory};
}

ToolkitChoice wanted_toolkit(const base::Root& root, const ToolkitSettings& settings) {
    return choose_toolkit(settings, read_toolkit_store(root), current_toolkit(root),
                          is_toolkit_in(root, preinstalled_directory(settings)));
}

ToolkitChoice present_toolkit(const base::Root& root, const ToolkitSettings& settings) {
    ToolkitStore store = read_toolkit_store(root);
    const std::string current = current_toolkit(root);
    std::erase_if(store.sets, [&](const ToolkitSet& set) { return set.path != current; });
    return choose_toolkit(settings, store, current, is_toolkit_in(root, preinstalled_directory(settings)));
}

} // namespace gpuhost::runtime
