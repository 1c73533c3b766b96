// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/store.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/kernels.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "kmod/store/manifest.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;
using base::Result;
using base::Root;

namespace {

/// Reads the set at `path`. Fails with BadContent if its manifest does not belong to this path.
Result<SetOnDisk> read_set(const Root& root, const std::string& path, const std::string& digest) {
    auto set = read_set_at(root, path);
    if (!set)
        return base::fail(std::move(set).error());
    if (std::string(store_directory) + "/" + set_place(set->manifest) + "/" + digest != path)
        return base::fail(Errc::BadContent, path + ": does not match its path in the store");
    return set;
}

void add(DriverVersion& version, const std::string& path, SetOnDisk set) {
    Manifest& manifest = set.manifest;
    if (manifest.kind == SetKind::Modules) {
        version.modules.push_back({manifest.kernel, manifest.flavour, set.digest, path,
                                   std::move(manifest.modules), set.published_us});
        return;
    }
    if (manifest.kind == SetKind::Source) {
        const content::TreeFile& file = manifest.files.front();
        version.sources.push_back({manifest.flavour, set.digest, path, file.path, manifest.directory,
                                   file.size, file.sha256, set.published_us});
        return;
    }
    Userland userland;
    userland.digest = set.digest;
    userland.path = path;
    userland.published_us = set.published_us;
    userland.closed_gpus = std::move(manifest.closed_gpus);
    constexpr std::string_view firmware = "firmware/";
    for (const content::TreeFile& file : manifest.files) {
        ++userland.files;
        userland.bytes += file.size;
        userland.nvml = userland.nvml || file.path == "lib/libnvidia-ml.so.1";
        if (base::starts_with(file.path, firmware))
            userland.firmware.push_back(file.path.substr(firmware.size()));
    }
    version.userland.push_back(std::move(userland));
}

/// Returns the names in a directory; empty if it does not exist.
std::vector<std::string> names(const Root& root, const std::string& path) {
    auto found = root.list(path);
    return found ? std::move(*found) : std::vector<std::string>{};
}

/// Returns the directories of one version that contain sets.
std::vector<std::string> set_parents(const Root& root, const std::string& version) {
    std::vector<std::string> parents{version + "/userland"};
    for (const char* kind : {"/modules", "/source"})
        for (const std::string& place : names(root, version + kind))
            parents.push_back(version + kind + "/" + place);
    return parents;
}

template <class T>
void newest_first(std::vector<T>& sets) {
    std::stable_sort(sets.begin(), sets.end(),
                     [](const T& a, const T& b) { return a.published_us > b.published_us; });
}

DriverVersion read_version(const Root& root, const std::string& version, std::vector<std::string>& problems) {
    DriverVersion result;
    result.version = version;
    for (const std::string& parent : set_parents(root, std::string(store_directory) + "/" + version))
        for (const std::string& digest : names(root, parent)) {
            if (!content::is_sha256(digest))
                continue;
            const std::string path = parent + "/" + digest;
            if (auto set = read_set(root, path, digest))
                add(result, path, std::move(*set));
            else
                problems.push_back(set.error().message);
        }
    newest_first(result.userland);
    newest_first(result.modules);
    newest_first(result.sources);
    return result;
}

std::string selection_path(std::string_view kernel) {
    return std::string(selected_directory) + "/" + std::string(kernel);
}

} // namespace

const Selection* Store::selection_of(const std::string& kernel) const {
    const auto found = selected.find(kernel);
    return found == selected.end() ? nullptr : &found->second;
}

const DriverVersion* Store::find(std::string_view version) const {
    const auto found = std::find_if(versions.begin(), versions.end(),
                                    [version](const DriverVersion& v) { return v.version == version; });
    return found == versions.end() ? nullptr : &*found;
}

const Userland* Store::find_userland(std::string_view version, std::string_view digest) const {
    const DriverVersion* known = find(version);
    if (known == nullptr)
        return nullptr;
    for (const Userland& userland : known->userland)
        if (userland.digest == digest)
            return &userland;
    return nullptr;
}

const ModuleSet* Store::find_modules(std::string_view version, std::string_view digest) const {
    const DriverVersion* known = find(version);
    if (known == nullptr)
        return nullptr;
    for (const ModuleSet& set : known->modules)
        if (set.digest == digest)
            return &set;
    return nullptr;
}

const ModuleSet* Store::modules_for(std::string_view version, std::string_view kernel,
                                    std::string_view flavour) const {
    const DriverVersion* known = find(version);
    if (known == nullptr)
        return nullptr;
    const ModuleSet* found = nullptr;
    for (const ModuleSet& set : known->modules)
        if (set.kernel == kernel && (flavour.empty() || set.flavour == flavour) &&
            (found == nullptr || (found->flavour != "open" && set.flavour == "open")))
            found = &set;
    return found;
}

bool is_superseded(const DriverVersion& version, const ModuleSet& set) {
    const auto newest =
        std::find_if(version.modules.begin(), version.modules.end(), [&](const ModuleSet& other) {
            return other.kernel == set.kernel && other.flavour == set.flavour;
        });
    return newest != version.modules.end() && newest->digest != set.digest;
}

bool is_signed(const ModuleSet& set) {
    return std::none_of(set.modules.begin(), set.modules.end(),
                        [](const ModuleFile& module) { return module.signer.empty(); });
}

Result<Store> read_store(const Root& root) {
    Store store;
    for (const std::string& name : names(root, std::string(store_directory))) {
        if (!base::is_driver_version(name))
            continue;
        DriverVersion version = read_version(root, name, store.problems);
        if (!version.userland.empty() || !version.modules.empty() || !version.sources.empty())
            store.versions.push_back(std::move(version));
    }
    std::sort(store.versions.begin(), store.versions.end(),
              [](const auto& a, const auto& b) { return base::compare_numbers(a.version, b.version) > 0; });
    for (const std::string& kernel : names(root, std::string(selected_directory))) {
        if (!base::is_kernel_release(kernel))
            continue;
        auto selection = read_selection(root, kernel);
        if (!selection)
            store.problems.push_back(selection.error().message);
        else if (*selection)
            store.selected.emplace(kernel, std::move(**selection));
    }
    return store;
}

Result<std::optional<Selection>> read_selection(const Root& root, std::string_view kernel) {
    const std::string path = selection_path(kernel);
    if (!base::is_kernel_release(kernel))
        return base::fail(Errc::InvalidArgument, "'" + std::string(kernel) + "' is not a kernel release");
    if (!root.exists(path))
        return std::nullopt;
    GPUHOST_TRY(text, root.read(path));
    GPUHOST_TRY(value, base::parse_json(text, path));
    auto selection = selection_from_json(value);
    if (!selection)
        return base::fail(Errc::BadContent, path + ": not a valid selection",
                          "Select a version again: gpuhostctl driver swap VERSION.");
    return selection;
}

Result<std::map<std::string, Selection>> read_selections(const Root& root) {
    std::map<std::string, Selection> selections;
    const auto kernels = root.list(selected_directory);
    if (!kernels && kernels.error().code != Errc::NotFound)
        return base::fail(kernels.error());
    for (const std::string& kernel : kernels.value_or(std::vector<std::string>{})) {
        if (!base::kernel_is_installed(root, kernel))
            continue;
        GPUHOST_TRY(selection, read_selection(root, kernel));
        if (selection)
            selections.emplace(kernel, std::move(*selection));
    }
    return selections;
}

Result<void> forget_selected(const Root& root, std::string_view version) {
    for (const std::string& kernel : names(root, std::string(selected_directory))) {
        auto selection = read_selection(root, kernel);
        if (!selection || !*selection)
            continue;
        if ((*selection)->generation.version == version)
            GPUHOST_CHECK(remove_selection(root, kernel));
        else if ((*selection)->previous && (*selection)->previous->version == version) {
            (*selection)->previous.reset();
            GPUHOST_CHECK(write_selection(root, kernel, **selection));
        }
    }
    return {};
}

Result<void> write_selection(const Root& root, std::string_view kernel, const Selection& selection) {
    if (!base::is_kernel_release(kernel))
        return base::fail(Errc::InvalidArgument, "'" + std::string(kernel) + "' is not a kernel release");
    GPUHOST_CHECK(root.make_directories(selected_directory));
    return root.write_atomic(selection_path(kernel), base::dump(to_json(selection)) + "\n");
}

Result<void> remove_selection(const Root& root, std::string_view kernel) {
    const std::string path = selection_path(kernel);
    if (!base::is_kernel_release(kernel) || !root.exists(path))
        return {};
    GPUHOST_CHECK(root.remove(path));
    return root.sync_directory(selected_directory);
}

Result<std::uint64_t> free_space(const Root& root) {
    return root.free_bytes(root.existing_part(store_directory));
}

bool is_of_version(std::string_view problem, std::string_view version) {
    return problem.find(std::string(store_directory) + "/" + std::string(version) + "/") != problem.npos;
}

std::string mending_hint(std::string_view path) {
    if (base::starts_with(path, selected_directory))
        return "Select a version again: gpuhostctl driver swap VERSION.";
    const std::string prefix = std::string(store_directory) + "/";
    const auto parts = base::split(path.substr(base::starts_with(path, prefix) ? prefix.size() : 0), '/');
    const std::string import = parts[0] + " again: gpuhostctl driver import FILE….";
    if (parts.size() < 3 || parts[1] != "modules")
        return "Import " + import;
    // The directory's name without the flavour.
    const std::string kernel = parts[2].substr(0, parts[2].rfind('-'));
    return "Build it again: gpuhostctl driver build " + parts[0] + " --kernel=" + kernel +
           " --again; or, if it was built elsewhere, import " + import;
}

bool is_others(const Store& store, const std::string& name) {
    if (name == "nouveau")
        return false;
    for (const DriverVersion& version : store.versions)
        for (const ModuleSet& set : version.modules)
            for (const ModuleFile& module : set.modules)
                if (module.name == name)
                    return false;
    return true;
}

} // namespace gpuhost::kmod
