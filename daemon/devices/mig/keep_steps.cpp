// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/keep_steps.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/devices/mig/answer.hpp"
#include "daemon/devices/mig/kept.hpp"
#include "daemon/devices/mig/restore_plan.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::devices {

using base::Json;
using base::Result;
using core::StepContext;

namespace {

constexpr const char* recreate_kind = "mig.recreate";
constexpr const char* record_kind = "mig.record";
/// Without nvidia-persistenced the GPUs are initialized one after the other, each in some seconds.
constexpr std::chrono::minutes reading{5};
/// Both together are less than the time for which gpuhost-ready.service waits at boot.
constexpr std::chrono::minutes recreating{3};
constexpr std::chrono::minutes reading_created{1};

Result<void> mark_tried(const StepContext& context) {
    GPUHOST_CHECK(context.root.make_directories(tried_path.substr(0, tried_path.rfind('/'))));
    return context.root.write_atomic(tried_path, "");
}

void warn_not_kept(const StepContext& context, const base::Error& why) {
    context.warn("the MIG instances are not kept for the next restart: " + why.message);
}

/// Writes the file of kept instances for the present instances.
Result<void> write_present(const StepContext& context, KeptMig kept) {
    kept.instances = listed_instances(context.root);
    return write_kept(context.root, kept);
}

/// Returns why the instances of each GPU could not be created.
Failures failures_of(const Geometry& wanted, const Result<std::vector<RestoredGpu>>& results) {
    Failures failures;
    if (!results)
        for (const MigGpu& gpu : wanted)
            failures[gpu.uuid] = results.error().message;
    else
        for (const RestoredGpu& gpu : *results)
            if (!gpu.problems.empty())
                failures[gpu.uuid] = base::join(gpu.problems, "; ");
    return failures;
}

/// Keeps a failure only if instances are missing. Others, such as another UUID, become warnings: the present
/// instances are kept.
void forgive(const StepContext& context, const Geometry& kept, const Geometry& present, Failures& failures) {
    std::erase_if(failures, [&](const auto& failure) {
        const auto is_it = [&](const MigGpu& gpu) { return gpu.uuid == failure.first; };
        const auto then = std::find_if(kept.begin(), kept.end(), is_it);
        const auto now = std::find_if(present.begin(), present.end(), is_it);
        if (then == kept.end() || now == present.end() || !missing(*then, *now).empty())
            return false;
        context.warn(name_of(*then) + ": " + failure.second);
        return true;
    });
}

/// A crash before the file tried_path is written repeats all of it.
Result<Json> recreate(StepContext& context, const Json& /*args*/) {
    const Json done{{"created", 0}, {"skip_kinds", Json::array({recreate_kind})}};
    if (!is_recreation_due(context.root) || !context.root.exists("/sys/module/nvidia"))
        return done;
    const auto kept = read_kept(context.root);
    if (!kept || !*kept) { // plan() of the component reports a file that can't be read
        if (const auto marked = mark_tried(context); !marked)
            warn_not_kept(context, marked.error());
        return done;
    }
    context.progress(-1, "creating the MIG instances");
    const auto results = ask_restore(context.root, std::string(kept_path), Restore::after_boot, recreating);
    std::size_t created = 0;
    for (const RestoredGpu& gpu : results.value_or(std::vector<RestoredGpu>()))
        created += gpu.created;
    Failures failures = failures_of((*kept)->gpus, results);
    const auto answer = ask_geometry(context.root, reading_created);
    if (!answer)
        for (const MigGpu& gpu : (*kept)->gpus)
            failures.try_emplace(gpu.uuid, "NVML can't describe them: " + answer.error().message);
    const Geometry present = answer.value_or(Geometry());
    forgive(context, (*kept)->gpus, present, failures);
    KeptMig result = keep_present({(*kept)->gpus, {}, {}}, present, failures);
    for (const std::string& problem : result.problems)
        context.warn(problem);
    if (const auto written = write_present(context, std::move(result)); !written)
        warn_not_kept(context, written.error());
    if (const auto marked = mark_tried(context); !marked)
        warn_not_kept(context, marked.error());
    return Json{{"created", created}, {"skip_kinds", Json::array({recreate_kind})}};
}

/// The undo of the driver's load destroys the instances: its next load creates them.
Result<void> undo_recreate(StepContext& context, const Json& args) {
    return base::bool_or(args, "loads", false) ? context.root.remove(tried_path) : Result<void>();
}

/// If NVML does not answer, what is kept stays, with that as its problem, so that the step is not repeated
/// for the same instances. Without instances, kept or present, its silence does not matter.
Result<Json> add(StepContext& context) {
    GPUHOST_TRY(kept, read_kept(context.root));
    const KeptMig before = kept ? *std::move(kept) : KeptMig();
    const bool is_any = !before.gpus.empty() || !listed_instances(context.root).empty();
    auto present = is_any ? ask_geometry(context.root, reading) : Geometry();
    KeptMig after = present ? keep_present(before, *present, {}) : before;
    if (!present)
        after.problems = {"NVML can't describe the MIG instances: " + present.error().message};
    for (const std::string& problem : after.problems)
        context.warn(problem);
    GPUHOST_CHECK(mark_tried(context)); // first: without it, the file would be due
    GPUHOST_CHECK(write_present(context, std::move(after)));
    return Json::object();
}

Result<Json> record(StepContext& context, const Json& args) {
    const std::string mode = base::string_or(args, "mode", "add");
    if (mode == "add")
        return add(context);
    if (mode == "remove") {
        GPUHOST_CHECK(context.root.remove(kept_path));
        GPUHOST_CHECK(mark_tried(context));
        return Json::object();
    }
    context.progress(-1, "reading the MIG instances");
    GPUHOST_TRY(present, ask_geometry(context.root, reading));
    GPUHOST_CHECK(mark_tried(context));
    GPUHOST_CHECK(write_present(context, keep_present({}, present, {})));
    return Json::object();
}

} // namespace

std::vector<core::StepKind> keep_step_kinds() {
    return {{.name = recreate_kind,
             .sandbox = core::Sandbox::Mig,
             .deadline = std::chrono::minutes(6), // more than both runs of gpuhost-nvml may take
             .ends_with_boot = true,
             .has_undo = true},
            {.name = record_kind, .sandbox = core::Sandbox::Mig, .deadline = std::chrono::minutes(7)}};
}

std::vector<core::StepCode> keep_step_code() {
    core::StepCode recreating{.name = recreate_kind};
    recreating.apply = recreate;
    recreating.undo = undo_recreate;
    core::StepCode recording{.name = record_kind};
    recording.apply = record;
    return {std::move(recreating), std::move(recording)};
}

core::Step mig_recreate_step(bool loads) {
    return {
        recreate_kind, "create the MIG instances that the GPUs had before the restart", {{"loads", loads}}};
}

core::Step mig_record_step(std::string summary, std::string mode) {
    return {record_kind, std::move(summary), {{"mode", std::move(mode)}}};
}

void keep_saved(const StepContext& context, const Geometry& saved) {
    if (is_recreation_due(context.root))
        return;
    const auto kept = read_kept(context.root);
    if (!kept)
        return; // status reports it
    auto done = mark_tried(context);
    if (done)
        done = write_present(context, keep_present(kept->value_or(KeptMig()), saved, {}));
    if (!done)
        warn_not_kept(context, done.error());
}

void keep_failures(const StepContext& context, const Geometry& saved,
                   const Result<std::vector<RestoredGpu>>& results) {
    const auto kept = read_kept(context.root);
    if (is_recreation_due(context.root) || !kept || !*kept)
        return;
    Failures failures = failures_of(saved, results);
    const Geometry present = ask_geometry(context.root, reading).value_or(Geometry());
    forgive(context, (*kept)->gpus, present, failures);
    if (failures.empty())
        return;
    const auto done = write_present(context, keep_present(**kept, present, failures));
    if (!done)
        warn_not_kept(context, done.error());
}

} // namespace gpuhost::devices
