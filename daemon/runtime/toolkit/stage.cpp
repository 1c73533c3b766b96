// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/stage.hpp"

#include "daemon/runtime/toolkit/store.hpp"

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using content::ImportFile;
using core::Artifact;
using core::StepContext;

namespace {

constexpr std::string_view toolkit_artifact = "toolkit";
constexpr std::string_view state_directory = "/var/lib/gpuhost";

Result<StagedToolkit> stage(const StepContext& context, const std::string& name,
                            const std::vector<ImportFile>& files) {
    const std::string directory = context.staging + std::string(staged_toolkits);
    GPUHOST_CHECK(context.root.make_directories(directory));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(directory)));
    GPUHOST_TRY(space, content::usable_space(context.root, state_directory));
    return stage_toolkit(staging, "/" + name, files, space, context.progress);
}

Result<Json> stage_apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(files, content::passed_files(context, args));
    GPUHOST_TRY(staged, stage(context, "given", files));
    return Json{{"version", staged.version},
                {"packages", staged.packages},
                {"kept", staged.kept},
                {"ignored", staged.ignored}};
}

/// Stages an artifact. Fails if its version is not that in the bundle's manifest: people rely on the
/// manifest.
Result<void> take(const StepContext& context, const Artifact& artifact, const std::string& place) {
    GPUHOST_TRY(opened, content::open_artifact(context.root, artifact));
    GPUHOST_TRY(staged, stage(context, place, opened.files));
    if (staged.version != artifact.name)
        return base::fail(Errc::BadContent,
                          "the bundle names toolkit " + artifact.name + ", but its files are of version " +
                              staged.version,
                          "Create the bundle again with the correct version in its section.");
    return {};
}

Result<Json> unpack_apply(StepContext& context, const Json&) {
    GPUHOST_TRY(artifacts, core::read_artifacts(context.root, context.staging));
    const ToolkitStore store = read_toolkit_store(context.root);
    std::vector<std::string> taken;
    for (const Artifact& artifact : artifacts.list) {
        const bool is_here =
            artifacts.known && store.find(artifact.name) != nullptr && store.problems.empty();
        if (artifact.kind != toolkit_artifact || is_here)
            continue;
        if (auto done = take(context, artifact, "bundled-" + std::to_string(taken.size())); !done)
            return base::fail(done.error().context("toolkit " + artifact.name));
        taken.push_back(artifact.name);
    }
    return Json{{"imported", taken}};
}

} // namespace

core::StepCode toolkit_stage_code() {
    core::StepCode code;
    code.name = "toolkit.stage";
    code.preflight = [](const StepContext& context, const Json& args) {
        return content::check_passed_files(context, args, state_directory,
                                           "Free space there, for example with 'gpuhostctl toolkit remove'.");
    };
    code.apply = stage_apply;
    // No verify: toolkit.publish hashes all files again. No undo: the staging directory is removed when the
    // transaction ends.
    return code;
}

core::StepCode toolkit_unpack_code() {
    return {.name = "toolkit.unpack", .apply = unpack_apply};
}

} // namespace gpuhost::runtime
