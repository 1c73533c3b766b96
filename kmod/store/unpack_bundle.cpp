// SPDX-License-Identifier: Apache-2.0
#include "kmod/store/unpack_bundle.hpp"

#include "kmod/store/stage.hpp"
#include "kmod/store/store.hpp"

#include <algorithm>

namespace gpuhost::kmod {

using base::Errc;
using base::Json;
using base::Result;
using core::Artifact;
using core::StepContext;

namespace {

constexpr std::string_view packages = "driver-packages";
constexpr std::string_view modules = "driver-modules";

bool is_driver(const Artifact& artifact) {
    return artifact.kind == packages || artifact.kind == modules;
}

/// Returns whether the store has this driver already, undamaged.
bool has(const Store& store, const Artifact& artifact) {
    const DriverVersion* const version = store.find(artifact.name);
    const bool damaged =
        std::any_of(store.problems.begin(), store.problems.end(),
                    [&](const std::string& problem) { return is_of_version(problem, artifact.name); });
    if (version == nullptr || damaged)
        return false;
    return artifact.kind == modules
               ? store.modules_for(artifact.name, artifact.kernel, artifact.flavour) != nullptr
               : !version->userland.empty() || !version->sources.empty();
}

/// Fails with BadContent if version, kernel or flavour of the files differ from those in the bundle's
/// manifest.
Result<void> check(const Imported& imported, const Artifact& artifact) {
    if (imported.version != artifact.name)
        return base::fail(Errc::BadContent,
                          "driver version mismatch (bundle: " + artifact.name +
                              ", files: " + imported.version + ")",
                          "Create the bundle again with the right version in its section.");
    if (imported.kernel != artifact.kernel)
        return base::fail(Errc::BadContent,
                          "kernel mismatch (bundle: " + artifact.kernel + ", files: " + imported.kernel + ")",
                          "Create the bundle again with the right kernel in its section.");
    if (!artifact.flavour.empty() && imported.flavour != artifact.flavour)
        return base::fail(Errc::BadContent,
                          "flavour mismatch of the modules (bundle: " + artifact.flavour +
                              ", files: " + imported.flavour + ")",
                          "Create the bundle again with the right Flavour= in its section.");
    return {};
}

Result<Imported> take(const StepContext& context, const Artifact& artifact, const std::string& place,
                      const OnProgress& progress) {
    GPUHOST_TRY(opened, content::open_artifact(context.root, artifact));
    const std::string directory = context.staging + "/" + place;
    GPUHOST_CHECK(context.root.make_directories(directory));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(directory)));
    GPUHOST_TRY(space, content::usable_space(context.root, store_directory));
    GPUHOST_TRY(imported, stage_files(staging, opened.files, space, progress));
    GPUHOST_CHECK(check(imported, artifact));
    return std::move(imported);
}

Result<Json> apply(StepContext& context, const Json&) {
    GPUHOST_TRY(artifacts, core::read_artifacts(context.root, context.staging));
    GPUHOST_TRY(store, read_store(context.root));
    std::erase_if(artifacts.list, [&](const Artifact& artifact) {
        return !is_driver(artifact) || (artifacts.known && has(store, artifact));
    });
    Json sets = Json::array();
    const auto count = static_cast<double>(artifacts.list.size());
    for (std::size_t i = 0; i < artifacts.list.size(); ++i) {
        const Artifact& artifact = artifacts.list[i];
        const auto progress = [&](double fraction, std::string_view text) {
            context.progress((static_cast<double>(i) + std::max(fraction, 0.0)) / count, text);
        };
        auto imported = take(context, artifact, "bundled/" + std::to_string(i), progress);
        if (!imported)
            return base::fail(imported.error().context("driver " + artifact.name));
        for (const std::string& set : imported->places)
            sets.push_back(set);
    }
    return Json{{"imported", std::move(sets)}};
}

} // namespace

core::StepCode driver_unpack_code() {
    // Needs no verify: the step store.publish hashes all files again. Needs no undo: the staging directory is
    // deleted with its transaction.
    return {.name = "driver.unpack", .apply = apply};
}

std::vector<core::Step> bundle_import_steps() {
    return {
        {"driver.unpack", "unpack the bundle's drivers for this host", {{"artifacts", "driver-"}}},
        {"store.publish", "add them to the driver store", {{"optional", true}, {"artifacts", "driver-"}}}};
}

} // namespace gpuhost::kmod
