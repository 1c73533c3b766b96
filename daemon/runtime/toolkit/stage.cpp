// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/toolkit/stage.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/content/crypto/sha256.hpp"
#include "daemon/core/artifact.hpp"
#include "daemon/runtime/toolkit/store.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace gpuhost::runtime {

using base::Errc;
using base::Json;
using base::Result;
using core::Artifact;
using core::StepContext;

namespace {

constexpr std::string_view toolkit_artifact = "toolkit";
/// Bytes of the disk to leave free for other programs.
constexpr std::uint64_t reserve = std::uint64_t{64} << 20U;

Result<std::uint64_t> usable_space(const base::Root& root) {
    GPUHOST_TRY(free, root.free_bytes("/var/lib/gpuhost"));
    return free - std::min(free, reserve);
}

Result<std::vector<ToolkitFile>> inputs_of(const StepContext& context, const Json& args) {
    const auto names = base::strings_or_empty(args, "names");
    if (names.empty() || names.size() != context.inputs.size())
        return base::fail(Errc::Interrupted, "the files to import are no longer open",
                          "Start the import again.");
    std::vector<ToolkitFile> files;
    for (std::size_t i = 0; i < names.size(); ++i)
        files.push_back({context.inputs[i].get(), names[i]});
    return files;
}

/// Checks only the sizes of the files. The preflight worker has more privileges than the one that parses, so
/// it must not read the files.
Result<std::vector<core::Problem>> preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(files, inputs_of(context, args));
    GPUHOST_TRY(space, usable_space(context.root));
    std::uint64_t bytes = 0;
    for (const ToolkitFile& file : files) {
        struct stat st {};
        if (::fstat(file.fd, &st) < 0)
            return base::fail_errno(file.name, errno);
        if (!S_ISREG(st.st_mode))
            return base::fail(Errc::InvalidArgument, file.name + ": not a regular file");
        bytes += static_cast<std::uint64_t>(st.st_size);
    }
    std::vector<core::Problem> problems;
    if (bytes > space)
        problems.push_back({Errc::NoSpace,
                            "the files have " + std::to_string(bytes >> 20U) + " MiB, but only " +
                                std::to_string(space >> 20U) + " MiB are free in /var/lib/gpuhost",
                            "Free space there, for example with 'gpuhostctl toolkit remove'."});
    return problems;
}

Result<StagedToolkit> stage(const StepContext& context, const std::string& name,
                            const std::vector<ToolkitFile>& files) {
    const std::string directory = context.staging + std::string(staged_toolkits);
    GPUHOST_CHECK(context.root.make_directories(directory));
    GPUHOST_TRY(staging, base::Root::open(context.root.host_path(directory)));
    GPUHOST_TRY(space, usable_space(context.root));
    return stage_toolkit(staging, "/" + name, files, space, context.progress);
}

Result<Json> stage_apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(files, inputs_of(context, args));
    GPUHOST_TRY(staged, stage(context, "given", files));
    return Json{{"version", staged.version},
                {"packages", staged.packages},
                {"kept", staged.kept},
                {"ignored", staged.ignored}};
}

/// The opened files of a bundle's toolkit. Their digests are checked again, because the files may have been
/// in the blob store for long.
struct Opened {
    std::vector<base::UniqueFd> descriptors;
    std::vector<ToolkitFile> files;
};
Result<Opened> open_artifact(const StepContext& context, const Artifact& artifact) {
    Opened opened;
    for (const core::ArtifactFile& file : artifact.files) {
        GPUHOST_TRY(fd, context.root.open_file(file.path, O_RDONLY | O_NOFOLLOW));
        GPUHOST_TRY(digest, content::sha256_of_file(fd.get(), file.name));
        if (digest.sha256 != file.sha256)
            return base::fail(Errc::BadContent,
                              file.name + ": its blob sha256:" + file.sha256 + " is damaged",
                              "Remove the bundle and import it again.");
        opened.files.push_back({fd.get(), file.name});
        opened.descriptors.push_back(std::move(fd));
    }
    return opened;
}

/// Stages an artifact. Fails if its version is not that in the bundle's manifest: people rely on the
/// manifest.
Result<void> take(const StepContext& context, const Artifact& artifact, const std::string& place) {
    GPUHOST_TRY(opened, open_artifact(context, artifact));
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

core::StepKind toolkit_stage_kind() {
    core::StepKind kind;
    kind.name = "toolkit.stage";
    kind.sandbox = core::Sandbox::Parse;
    kind.deadline = std::chrono::minutes(10);
    kind.interruptible = true;
    kind.preflight = preflight;
    kind.apply = stage_apply;
    // No verify: toolkit.publish hashes all files again. No undo: the staging directory is removed when the
    // transaction ends.
    return kind;
}

core::StepKind toolkit_unpack_kind() {
    core::StepKind kind;
    kind.name = "toolkit.unpack";
    kind.sandbox = core::Sandbox::Content;
    kind.deadline = std::chrono::minutes(10);
    kind.interruptible = true;
    kind.apply = unpack_apply;
    return kind;
}

} // namespace gpuhost::runtime
