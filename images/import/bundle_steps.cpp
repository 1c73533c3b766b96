// SPDX-License-Identifier: Apache-2.0
#include "images/import/bundle_steps.hpp"

#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "images/bundle/trust.hpp"
#include "images/host/kubelet.hpp"
#include "images/host/mirrors_step.hpp"
#include "images/host/repositories_step.hpp"
#include "images/import/artifacts.hpp"
#include "images/import/foreign_import.hpp"
#include "images/import/import.hpp"
#include "images/store/garbage.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace gpuhost::images {

using base::Errc;
using base::Json;
using base::Result;
using core::StepContext;

namespace {

using Problems = std::vector<core::Problem>;

/// Warns if `bytes` more in the store would make the kubelet start to delete images.
void warn_of_image_gc(const StepContext& context, const Json& args, std::uint64_t bytes) {
    // -1: no kubelet on this host.
    const std::int64_t threshold = base::int_or(args, "image-gc-threshold", -1);
    const std::string warning = image_gc_warning(
        context.root, bytes, threshold < 0 ? std::nullopt : std::optional(static_cast<unsigned>(threshold)));
    if (!warning.empty())
        context.warn(warning);
}

bool is_stream(const Json& args) {
    return base::bool_or(args, "stream", false);
}

ImportPolicy policy_of(const Json& args) {
    ImportPolicy policy{base::bool_or(args, "allow-downgrade", false), is_stream(args)};
    const Json& least = base::member(args, "least-generations");
    for (const auto& [name, generation] : least.items())
        policy.least[name] = static_cast<std::uint64_t>(base::int_or(least, name, 0));
    return policy;
}

Result<BundleInput> input_of(const StepContext& context, const Json& args) {
    const auto names = base::strings_or_empty(args, "files");
    if (names.empty() || names.size() != context.inputs.size())
        return base::fail(Errc::Interrupted, "gpuhostd restarted, which closed the bundle",
                          "Start the import again; it continues where it stopped.");
    std::vector<BundleInput::Part> parts;
    for (std::size_t i = 0; i < names.size(); ++i)
        parts.push_back({context.inputs[i].get(), names[i]});
    return BundleInput::open(std::move(parts));
}

core::Problem problem_of(const base::Error& error) {
    return {error.code, error.message, error.hint};
}

/// Returns what the manifest says about the bundle, for the output of the operation.
Json facts_of(const SignedManifest& bundle, const Json& args) {
    const BundleManifest& manifest = bundle.manifest;
    return {{"name", manifest.name},
            {"generation", manifest.generation},
            {"signer", bundle.signer.subject},
            {"drivers", drivers_for(manifest, host_facts_from_json(args))},
            {"title", "import bundle " + manifest.name + ", generation " +
                          std::to_string(manifest.generation) + (is_stream(args) ? ", from peers" : "")}};
}

constexpr std::string_view mirrors_kind = "images.mirrors";
constexpr std::string_view repositories_kind = "packages.repositories";

bool has_kind(const std::vector<std::string>& kinds, std::string_view prefix) {
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const std::string& kind) { return base::starts_with(kind, prefix); });
}

/// Returns the kinds of the steps after an import for which the replaced generation and the new one need the
/// same files of runtimes or package managers. Returns none if such a file is wrong now ("mends"), or if the
/// replaced generation is not known, as after an interruption. `artifacts`: the kinds of its artifacts.
std::vector<std::string> idle_followers(const base::Root& root, const BundleManifest& manifest,
                                        const std::vector<std::string>& artifacts, const Json& args) {
    std::vector<std::string> idle;
    const Catalogue catalogue(root);
    const auto found = catalogue.record(manifest.name);
    const auto unfinalized = catalogue.unfinalized();
    if (base::bool_or(args, "mends", true) || !unfinalized || !unfinalized->empty() ||
        (!found && found.error().code != Errc::NotFound))
        return idle;
    const BundleRecord before = found ? *found : BundleRecord();
    if (before.registries == registries_of(manifest.images) &&
        before.namespaces == namespaces_of(manifest.images))
        idle.emplace_back(mirrors_kind);
    if (before.packages.empty() && !has_kind(artifacts, packages_kind))
        idle.emplace_back(repositories_kind);
    return idle;
}

/// Reports whether the bundle is installed, and no step of its import has anything to do.
bool is_installed(const base::Root& root, const BundleManifest& manifest, const ImportPlan& plan,
                  const Json& args) {
    return plan.complete && manifest.artifacts.empty() && is_finalized(root) &&
           !base::bool_or(args, "mends", false);
}

/// Returns the kinds of the steps that have nothing to do for a bundle. These are steps of other subsystems,
/// if the bundle has none of their artifacts for this host; args["steps_for"] names them: {"toolkit":
/// ["toolkit.unpack", …], …}. They are also those of idle_followers(); if the bundle was complete before, all
/// steps that write such files. The manifest is enough to decide, so a preflight counts the same steps.
std::vector<std::string> idle_steps(const base::Root& root, const BundleManifest& manifest, bool complete,
                                    const Json& args) {
    const std::vector<std::string> artifacts = artifact_kinds_for(manifest, host_facts_from_json(args));
    std::vector<std::string> idle;
    if (complete && !base::bool_or(args, "mends", false))
        idle = {std::string(mirrors_kind), std::string(repositories_kind)};
    else
        idle = idle_followers(root, manifest, artifacts, args);
    for (const auto& [prefix, kinds] : base::member(args, "steps_for").items())
        if (!has_kind(artifacts, prefix))
            for (const Json& kind : kinds)
                idle.push_back(kind.get<std::string>());
    return idle;
}

/// Verifies the signature of a bundle in files, and makes the checks of plan_import(). Does not read a pipe,
/// because a pipe can be read only once. For a pipe, the phase apply makes the same checks before it writes.
Result<Problems> receive_preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(input, input_of(context, args));
    const auto trust = load_trust(context.root);
    if (!trust)
        return Problems{problem_of(trust.error())};
    if (!input.seekable())
        return Problems();
    const auto bundle = BundleReader::open(std::move(input), *trust);
    if (!bundle)
        return Problems{problem_of(bundle.error())};
    const auto plan =
        plan_import(context.root, bundle->signed_manifest(), host_facts_from_json(args), policy_of(args));
    if (!plan)
        return Problems{problem_of(plan.error())};
    warn_of_image_gc(context, args, plan->missing_bytes);
    Json facts = facts_of(bundle->signed_manifest(), args);
    std::vector<std::string> idle = idle_steps(context.root, bundle->manifest(), plan->complete, args);
    if (is_installed(context.root, bundle->manifest(), *plan, args))
        idle.insert(idle.end(), {"bundle.commit", "bundle.finalize"});
    facts["skip_kinds"] = idle;
    context.describe(facts);
    return Problems();
}

Json report_of(const SignedManifest& bundle, const ImportPlan& plan, const Json& args) {
    Json report = facts_of(bundle, args);
    report["written_blobs"] = plan.missing_blobs;
    report["written_bytes"] = plan.missing_bytes;
    report["present_blobs"] = plan.present_blobs;
    return report;
}

std::string count_of(std::uint64_t done, std::uint64_t total) {
    return std::to_string(done >> 20U) + " of " + std::to_string((total + (1U << 20U) - 1) >> 20U) + " MiB";
}

/// Syncs the directories of the store and the catalogue. The operation that imported the bundle may have been
/// interrupted before it synced them.
Result<void> finish_earlier(const base::Root& root) {
    GPUHOST_CHECK(root.sync_directory(blobs_directory));
    return root.sync_directory(catalogue_directory);
}

OnBytes progress_of(StepContext& context, std::uint64_t total) {
    return [&context, total, done = std::uint64_t{0}](std::uint64_t n) mutable {
        done += n;
        context.progress(total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total),
                         "reading " + count_of(done, total));
    };
}

std::uint64_t bytes_in_file(const BundleManifest& manifest) {
    std::uint64_t total = 0;
    for (const Member& member : manifest.members)
        total += member.absent ? 0 : member.size;
    return total;
}

/// Records that this operation reads a pipe. Fails with Interrupted if it was recorded before: the worker
/// that read the pipe has ended, and its bytes are lost.
Result<void> receive_pipe(const StepContext& context) {
    const std::string taken = context.staging + "/pipe-was-read";
    if (context.root.exists(taken))
        return base::fail(Errc::Interrupted, "the worker that read the bundle ended early",
                          "Send the bundle again; the import continues where it stopped.");
    return context.root.write_atomic(taken, "");
}

/// Applies bundle.receive: calls `receive` if blobs are missing, and writes the list of artifacts for other
/// subsystems. "skip" and "skip_kinds" in the result name following steps that have nothing to do.
Result<Json> receive_signed(StepContext& context, const Json& args, const SignedManifest& bundle,
                            const std::function<Result<void>(const ImportPlan&)>& receive) {
    GPUHOST_TRY(plan, plan_import(context.root, bundle, host_facts_from_json(args), policy_of(args)));
    warn_of_image_gc(context, args, plan.missing_bytes);
    if (const std::string warning = clock_warning(bundle.manifest, base::realtime_us() / 1'000'000);
        !warning.empty())
        context.warn(warning);
    if (plan.complete) {
        // Otherwise the step bundle.commit would use the mark of an import that was undone.
        GPUHOST_CHECK(forget_received(context.root));
        GPUHOST_CHECK(finish_earlier(context.root));
    } else {
        GPUHOST_CHECK(receive(plan));
    }
    GPUHOST_TRY(artifacts, host_artifacts(context.root, bundle, host_facts_from_json(args)));
    Json report = report_of(bundle, plan, args);
    if (is_installed(context.root, bundle.manifest, plan, args))
        report["skip"] = base::int_or(args, "steps_after", 0);
    else
        report["skip_kinds"] = idle_steps(context.root, bundle.manifest, plan.complete, args);
    GPUHOST_CHECK(
        core::write_artifacts(context.root, context.staging, {std::move(artifacts.others), plan.complete}));
    return report;
}

Result<Json> receive_apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(trust, load_trust(context.root));
    GPUHOST_TRY(input, input_of(context, args));
    if (!input.seekable())
        GPUHOST_CHECK(receive_pipe(context));
    context.progress(0, "verifying the signature");
    if (is_stream(args)) {
        GPUHOST_TRY(bundle, read_signed_manifest(input, trust));
        return receive_signed(context, args, bundle, [&](const ImportPlan& plan) {
            return receive_stream(context.root, bundle, input, host_facts_from_json(args),
                                  progress_of(context, plan.missing_bytes));
        });
    }
    GPUHOST_TRY(bundle, BundleReader::open(std::move(input), trust));
    return receive_signed(context, args, bundle.signed_manifest(), [&](const ImportPlan&) {
        return receive_bundle(context.root, bundle, host_facts_from_json(args),
                              progress_of(context, bytes_in_file(bundle.manifest())));
    });
}

core::StepCode receive_code() {
    return {.name = "bundle.receive", .preflight = receive_preflight, .apply = receive_apply};
}

Result<ForeignInput> foreign_input_of(const StepContext& context, const Json& args) {
    const auto names = base::strings_or_empty(args, "files");
    if (names.size() != 1 || context.inputs.size() != 1)
        return base::fail(Errc::Interrupted, "gpuhostd restarted, which closed the file",
                          "Start the import again.");
    return ForeignInput{context.inputs.front().get(), names.front(), base::string_or(args, "image-name", "")};
}

Result<Problems> convert_preflight(StepContext& context, const Json& args) {
    GPUHOST_TRY(input, foreign_input_of(context, args));
    const auto checked = check_foreign_input(context.root, input, base::string_or(args, "name", ""));
    if (!checked)
        return Problems{problem_of(checked.error())};
    warn_of_image_gc(context, args, unpacked_size(context.root, input));
    return Problems();
}

Result<Json> convert_apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(input, foreign_input_of(context, args));
    warn_of_image_gc(context, args, unpacked_size(context.root, input));
    std::uint64_t done = 0;
    std::uint64_t told = 0;
    const auto on_bytes = [&](std::uint64_t n) {
        done += n;
        if (done >> 20U == told)
            return;
        told = done >> 20U;
        context.progress(-1, "unpacked " + std::to_string(told) + " MiB");
    };
    GPUHOST_TRY(found, add_foreign_images(context.root, input, base::string_or(args, "name", ""),
                                          host_facts_from_json(args), policy_of(args), on_bytes));
    for (const std::string& warning : found.warnings)
        context.warn(warning);
    return Json{{"name", found.manifest.name},
                {"unsigned", true},
                {"images", found.manifest.images.size()},
                {"skip_kinds", idle_followers(context.root, found.manifest, {}, args)}};
}

core::StepCode convert_code() {
    core::StepCode code;
    code.name = "bundle.convert";
    code.preflight = convert_preflight;
    code.apply = convert_apply;
    code.undo = [](StepContext& context, const Json&) { return remove_other_incoming(context.root, ""); };
    return code;
}

Result<Json> commit_apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(received, received_bundle(context.root));
    if (!received)
        return Json::object(); // the bundle was complete already, so nothing was received
    context.progress(-1, "waiting for the disk");
    if (base::bool_or(args, "unsigned", false)) { // ImagesComponent::plan() has checked that this is allowed
        GPUHOST_CHECK(commit_unsigned(context.root, *received, host_facts_from_json(args)));
        return Json::object();
    }
    GPUHOST_TRY(trust, load_trust(context.root));
    GPUHOST_CHECK(commit_bundle(context.root, *received, trust, host_facts_from_json(args)));
    return Json::object();
}

Result<void> commit_undo(StepContext& context, const Json&) {
    GPUHOST_TRY(received, received_bundle(context.root));
    return received ? undo_receive(context.root, *received) : Result<void>();
}

core::StepCode commit_code() {
    // The step has no verify: the record is written last, and a blob in the store has the right digest.
    return {.name = "bundle.commit", .apply = commit_apply, .undo = commit_undo};
}

Result<Json> finalize_apply(StepContext& context, const Json&) {
    GPUHOST_TRY(received, received_bundle(context.root));
    GPUHOST_CHECK(received ? finalize_import(context.root, received->digest)
                           : Catalogue(context.root).finalize());
    GPUHOST_CHECK(remove_other_incoming(context.root, "")); // files of earlier imports
    // Removes blobs that only the replaced generation used, or that an interrupted import left.
    if (auto freed = remove_garbage(context.root); !freed)
        context.warn("unused blobs are not removed: " + freed.error().message);
    return Json::object();
}

core::StepCode finalize_code() {
    return {.name = "bundle.finalize", .apply = finalize_apply};
}

Result<Problems> remove_preflight(StepContext& context, const Json& args) {
    const std::string name = base::string_or(args, "name", "");
    const auto record = Catalogue(context.root).record(name);
    if (!record && record.error().code != Errc::BadContent)
        return Problems{problem_of(record.error())};
    const auto owners = check_owners(context.root, name);
    return owners ? Problems() : Problems{problem_of(owners.error())};
}

Result<Json> remove_apply(StepContext& context, const Json& args) {
    GPUHOST_TRY(freed, remove_bundle(context.root, base::string_or(args, "name", "")));
    return Json{{"freed_blobs", freed.blobs}, {"freed_bytes", freed.bytes}};
}

core::StepCode remove_code() {
    return {.name = "bundle.remove", .preflight = remove_preflight, .apply = remove_apply};
}

} // namespace

std::vector<core::StepKind> bundle_step_kinds() {
    using core::Sandbox;
    using std::chrono::hours;
    using std::chrono::minutes;
    const std::vector<std::string> store{std::string(store_directory), std::string(catalogue_directory)};
    return {
        // Reads a signed bundle by descriptor. Writes its missing blobs into the incoming directory, and a
        // list of its artifacts for other subsystems (core/artifact.hpp). The deadline is enough to copy a
        // full disk from a slow medium.
        {.name = "bundle.receive",
         .sandbox = Sandbox::Content,
         .deadline = hours(6),
         .writable = {std::string(store_directory)},
         .interruptible = true,
         .has_preflight = true},
        // Reads unsigned images by descriptor. Writes all of them into the incoming directory, with a
        // manifest that this step makes.
        {.name = "bundle.convert",
         .sandbox = Sandbox::Content,
         .deadline = hours(6),
         .writable = {std::string(incoming_directory)},
         .interruptible = true,
         .has_preflight = true,
         .has_undo = true},
        // Moves received blobs into the store and adds the bundle to the catalogue. The record there makes
        // the bundle visible. The deadline is for the case that all blobs must still be written to the disk.
        {.name = "bundle.commit",
         .sandbox = Sandbox::Content,
         .deadline = hours(1),
         .writable = store,
         .has_undo = true},
        // Removes the replaced record, and the blobs that only this record lists. Undo is impossible
        // afterwards.
        {.name = "bundle.finalize", .sandbox = Sandbox::Content, .deadline = minutes(15), .writable = store},
        // Removes a record, and the blobs that no other bundle owns.
        {.name = "bundle.remove",
         .sandbox = Sandbox::Content,
         .deadline = minutes(15),
         .writable = store,
         .has_preflight = true},
        // Updates the runtimes' files from the catalogue (images/host/mirrors.hpp).
        {.name = "images.mirrors", .sandbox = Sandbox::System},
        // Updates the files of apt or dnf from the catalogue (images/host/repositories.hpp). The deadline is
        // enough for several bundles, each with a run of apt-get.
        {.name = "packages.repositories",
         .sandbox = Sandbox::System,
         .deadline = minutes(15),
         .has_undo = true},
    };
}

std::vector<core::StepCode> bundle_step_code() {
    return {receive_code(), convert_code(), commit_code(),      finalize_code(),
            remove_code(),  mirrors_code(), repositories_code()};
}

} // namespace gpuhost::images
