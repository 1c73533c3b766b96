// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/steps.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/mig/answer.hpp"
#include "daemon/devices/mig/restore_plan.hpp"
#include "daemon/runtime/gpu/gpus.hpp"

#include <algorithm>
#include <set>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

namespace {

constexpr const char* destroy_hint =
    "Destroy the MIG instances before the swap: nvidia-smi mig -dci && nvidia-smi mig -dgi.";

std::string saved_path(const StepContext& context) {
    return context.staging + "/mig.json";
}

std::string plural(std::size_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string name_of(const MigGpu& gpu) {
    return "GPU " + gpu.address;
}

/// Returns the reasons why the instances could not be created again.
std::vector<Problem> problems_of(const Geometry& geometry) {
    std::vector<Problem> problems;
    for (const MigGpu& gpu : geometry)
        for (const std::string& obstacle : obstacles(gpu))
            problems.push_back({Errc::Refused,
                                "the MIG instances of " + name_of(gpu) +
                                    " could not be re-created after the swap: " + obstacle,
                                destroy_hint,
                                {}});
    return problems;
}

/// Returns the number of GPUs that NVML describes as split, or whose state it can't tell.
std::size_t count_known(const Geometry& geometry) {
    return static_cast<std::size_t>(std::count_if(geometry.begin(), geometry.end(), [](const MigGpu& gpu) {
        return gpu.split || !gpu.problem.empty();
    }));
}

Result<std::vector<Problem>> check(StepContext& context, const Json& /*args*/) {
    const auto geometry = ask_geometry(context.root);
    if (!geometry)
        return std::vector<Problem>{
            {Errc::Refused,
             "GPUs are split into MIG instances, and NVML can't describe them: " + geometry.error().message,
             destroy_hint,
             {}}};
    for (const MigGpu& gpu : *geometry)
        if (gpu.split && gpu.problem.empty())
            context.warn(name_of(gpu) + " is split: the swap destroys and re-creates its " +
                         plural(count_devices(gpu), "MIG device"));
    if (count_known(*geometry) < count_split(context.root))
        context.warn("a GPU with MIG instances does not answer NVML: its instances are not re-created");
    return problems_of(*geometry);
}

Result<Json> save(StepContext& context, const Json& /*args*/) {
    context.progress(-1, "reading the MIG instances");
    GPUHOST_TRY(geometry, ask_geometry(context.root));
    if (const auto problems = problems_of(geometry); !problems.empty())
        return base::fail(problems.front().code, problems.front().text, problems.front().hint);
    GPUHOST_CHECK(context.root.make_directories(context.staging));
    GPUHOST_CHECK(context.root.write_atomic(saved_path(context), base::dump(to_json(geometry)) + "\n"));
    return Json{{"mig", to_json(geometry)}};
}

/// Returns the saved geometry; nullopt if mig.save did not get that far.
Result<std::optional<Geometry>> read_saved(const StepContext& context) {
    const std::string path = saved_path(context);
    if (!context.root.exists(path))
        return std::nullopt;
    GPUHOST_TRY(text, context.root.read(path, largest_geometry));
    GPUHOST_TRY(value, base::parse_json(text, path));
    GPUHOST_TRY(geometry, geometry_from_json(value));
    return std::optional(std::move(geometry));
}

Result<Json> create_again(StepContext& context, Restore scope) {
    context.progress(-1, "creating the MIG instances");
    GPUHOST_TRY(gpus, ask_restore(context.root, saved_path(context), scope));
    std::vector<std::string> problems;
    std::size_t created = 0;
    for (const RestoredGpu& gpu : gpus) {
        created += gpu.created;
        for (const std::string& problem : gpu.problems)
            problems.push_back("GPU " + gpu.address + ": " + problem);
    }
    if (!problems.empty())
        return base::fail(Errc::Failed, "the MIG instances are not as before: " + base::join(problems, "; "),
                          "Compare nvidia-smi -L with the step mig.save: gpuhostctl operation show --json.");
    return Json{{"gpus", gpus.size()}, {"created", created}};
}

Result<Json> restore(StepContext& context, const Json& /*args*/) {
    GPUHOST_TRY(saved, read_saved(context));
    if (!saved)
        return base::fail(Errc::NotFound, "the MIG instances were not saved");
    return count_split(*saved) == 0 ? Json{{"gpus", 0}, {"created", 0}}
                                    : create_again(context, Restore::all_or_none);
}

Result<void> undo_save(StepContext& context, const Json& /*args*/) {
    GPUHOST_TRY(saved, read_saved(context));
    if (saved && count_split(*saved) != 0)
        GPUHOST_CHECK(create_again(context, Restore::each_gpu));
    return {};
}

} // namespace

std::size_t count_split(const base::Root& root) {
    std::set<std::string> gpus;
    for (const std::string& instance : runtime::mig_instances(root))
        gpus.insert(instance.substr(0, instance.find('/')));
    return gpus.size();
}

std::vector<core::StepKind> mig_step_kinds() {
    return {{.name = "mig.save",
             .sandbox = core::Sandbox::Mig,
             .deadline = std::chrono::minutes(10),
             .ends_with_boot = true,
             .has_preflight = true,
             .has_undo = true},
            {.name = "mig.restore",
             .sandbox = core::Sandbox::Mig,
             .deadline = std::chrono::minutes(10),
             .ends_with_boot = true}};
}

std::vector<core::StepCode> mig_step_code() {
    core::StepCode saving{.name = "mig.save"};
    saving.preflight = check;
    saving.apply = save;
    saving.undo = undo_save;
    core::StepCode restoring{.name = "mig.restore"};
    restoring.apply = restore; // needs no verify: apply compares the instances after it has created them
    return {std::move(saving), std::move(restoring)};
}

core::StepsAround mig_steps_around(std::size_t split) {
    if (split == 0)
        return {};
    const std::string of = " the MIG instances of " + plural(split, "GPU");
    return {{},
            {{"mig.save", "save" + of, Json::object()}},
            {{"mig.restore", "re-create" + of, Json::object()}},
            {}};
}

} // namespace gpuhost::devices
