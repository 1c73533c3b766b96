// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/remove.hpp"

#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/content/set/removal.hpp"
#include "kmod/holder/mappers.hpp"
#include "kmod/store/loaded_set.hpp"
#include "kmod/store/manifest.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;
using core::Problem;
using core::StepContext;

namespace {

/// Returns the kernel whose module set is removed. Empty: the whole version is removed.
std::string kernel_of(const Json& args) {
    return base::string_or(args, "kernel", {});
}

/// Returns the path of what is removed, relative to the store.
Result<std::string> place_of(const Json& args) {
    GPUHOST_TRY(version, base::get_string(args, "version"));
    if (!base::is_driver_version(version))
        return base::fail(Errc::InvalidArgument, "'" + version + "' is not a driver version");
    if (kernel_of(args).empty())
        return version;
    Manifest set;
    set.kind = SetKind::Modules;
    set.version = version;
    set.kernel = kernel_of(args);
    set.flavour = base::string_or(args, "flavour", {});
    const std::string digest = base::string_or(args, "digest", {});
    const bool is_flavour = set.flavour == "open" || set.flavour == "proprietary";
    if (!base::is_kernel_release(set.kernel) || !is_flavour || !content::is_sha256(digest))
        return base::fail(Errc::InvalidArgument,
                          "'" + set_place(set) + "/" + digest + "' is not a module set");
    return set_place(set) + "/" + digest;
}

/// Returns "driver 550.163.01" or "the open modules of driver 550.163.01 for 6.1.0-40-amd64".
std::string describe_what(const Json& args) {
    const std::string driver = "driver " + base::string_or(args, "version", {});
    return kernel_of(args).empty() ? driver
                                   : "the " + base::string_or(args, "flavour", {}) + " modules of " + driver +
                                         " for " + kernel_of(args);
}

Result<void> check_selected(const Root& root, const std::string& version, std::vector<Problem>& problems) {
    GPUHOST_TRY(selected, read_selections(root));
    for (const auto& [kernel, selection] : selected)
        if (selection.generation.version == version)
            problems.push_back({Errc::InUse, "driver " + version + " is selected for kernel " + kernel,
                                "Swap to another version first: gpuhostctl driver swap VERSION."});
    return {};
}

void check_loaded(const Root& root, const std::string& version, std::vector<Problem>& problems) {
    if (root.read_line("/sys/module/nvidia/version").value_or("") == version)
        problems.push_back({Errc::InUse, "driver " + version + " is loaded",
                            "Swap to another version first: gpuhostctl driver swap VERSION."});
}

/// Returns whether a loaded module of the driver is probably from this set. The plan keeps the same sets.
bool is_loaded(const Root& root, const Store& store, const std::string& running, const ModuleSet& set) {
    const std::vector<LoadedModule> modules = loaded_driver(root);
    return std::any_of(modules.begin(), modules.end(), [&](const LoadedModule& module) {
        return loaded_set(store, running, module) == &set;
    });
}

/// Adds a problem if an installed kernel needs the module set. The plan removes only superseded sets and
/// those of removed kernels, but a kernel may have been installed again since, or a set imported again.
Result<void> check_set(const Root& root, const Json& args, std::vector<Problem>& problems) {
    const std::string kernel = kernel_of(args);
    const std::string digest = base::string_or(args, "digest", {});
    const std::string again = "Run gpuhostctl driver clean again.";
    GPUHOST_TRY(running, kernel_release(root));
    if (running != kernel && !base::kernel_is_installed(root, kernel))
        return {};
    GPUHOST_TRY(selections, read_selections(root));
    for (const auto& [other, selection] : selections)
        if (selection.generation.modules == digest ||
            (selection.previous && selection.previous->modules == digest))
            problems.push_back(
                {Errc::InUse, describe_what(args) + " are selected for kernel " + other, again});
    GPUHOST_TRY(store, read_store(root));
    const std::string version = base::string_or(args, "version", {});
    const ModuleSet* const set = store.find_modules(version, digest);
    const ModuleSet* const newest = store.modules_for(version, kernel, base::string_or(args, "flavour", {}));
    if (set == nullptr || newest == nullptr || newest == set)
        problems.push_back({Errc::InUse, "kernel " + kernel + " is installed", again});
    else if (running == kernel && is_loaded(root, store, running, *set))
        problems.push_back({Errc::InUse, describe_what(args) + " are loaded", again});
    return {};
}

/// Adds a problem if a process or container uses a file below `directory`.
Result<void> check_mapped(const Root& root, const std::string& directory, std::vector<Problem>& problems) {
    GPUHOST_TRY(mappers, find_mappers(root, directory));
    for (const Holder& holder : mappers)
        problems.push_back({Errc::InUse, describe(holder) + " uses " + holder.devices.front(),
                            "Stop or restart it: it uses files of this version."});
    return {};
}

Result<std::vector<Problem>> check(StepContext& context, const Json& args, const std::string& path) {
    const std::string version = base::string_or(args, "version", {});
    std::vector<Problem> problems;
    if (!context.root.exists(path)) {
        problems.push_back({Errc::NotFound, describe_what(args) + " is not in the store",
                            "List the drivers in the store: gpuhostctl driver list."});
        return problems;
    }
    if (kernel_of(args).empty()) {
        GPUHOST_CHECK(check_selected(context.root, version, problems));
        check_loaded(context.root, version, problems);
    } else {
        GPUHOST_CHECK(check_set(context.root, args, problems));
    }
    GPUHOST_CHECK(check_mapped(context.root, path, problems));
    return problems;
}

/// Changes the selections in the step store.purge only, because the step store.remove can be undone.
Result<void> before_purge(StepContext& context, const Json& args) {
    if (kernel_of(args).empty())
        GPUHOST_CHECK(forget_selected(context.root, base::string_or(args, "version", {})));
    context.progress(-1, "deleting " + describe_what(args));
    return {};
}

content::Removing removing() {
    return {store_directory, place_of, check, before_purge};
}

} // namespace

core::StepCode store_remove_code() {
    return content::remove_code("store.remove", removing());
}

core::StepCode store_purge_code() {
    return content::purge_code("store.purge", removing());
}

} // namespace gpuhost::kmod
