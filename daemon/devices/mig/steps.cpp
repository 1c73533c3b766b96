// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/steps.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/mig/answer.hpp"
#include "daemon/devices/mig/keep_steps.hpp"
#include "daemon/devices/mig/restore_plan.hpp"
#include "daemon/runtime/gpu/gpus.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;
using core::Problem;
using core::StepContext;

namespace {

constexpr const char* destroy_hint =
    "Destroy the MIG instances before the swap: nvidia-smi mig -dci && nvidia-smi mig -dgi.";

constexpr std::string_view driver_version = "/proc/driver/nvidia/version";
/// Without nvidia-persistenced the GPUs are initialized one after the other, each in some seconds.
constexpr std::chrono::minutes reading{5};
constexpr std::chrono::minutes restoring{8}; ///< the MIG mode resets each GPU, which takes some seconds
constexpr std::chrono::seconds loading{90};  ///< with the time for a re-creation, less than the deadline

/// nvidia-smi needs NVML, too, so it can't destroy the instances.
constexpr const char* nvml_hint =
    "Find out why NVML fails: nvidia-smi. A reboot resets the GPUs, and destroys their instances.";

std::string saved_path(const StepContext& context) {
    return context.staging + "/mig.json";
}

std::string plural(std::size_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Returns what NVML can't tell of a GPU.
std::string unknown(const MigGpu& gpu) {
    return std::string("the MIG ") + (gpu.split ? "instances" : "mode") + " of " + name_of(gpu) +
           (gpu.split ? " are" : " is") + " unknown: " + gpu.problem;
}

bool is_known(const MigGpu& gpu) {
    return gpu.problem.empty();
}

/// Returns true if the driver lists more GPUs with instances than NVML describes.
bool are_instances_unknown(const base::Root& root, const Geometry& geometry) {
    const auto described = std::count_if(geometry.begin(), geometry.end(), [](const MigGpu& gpu) {
        return is_known(gpu) && !gpu.instances.empty();
    });
    return count_gpus_with_instances(root) > static_cast<std::size_t>(described);
}

/// Returns the reasons why the instances could not be created again. A GPU that NVML can't describe is a
/// reason only if it has instances.
std::vector<Problem> problems_of(const base::Root& root, const Geometry& geometry) {
    std::vector<std::string> texts;
    for (const MigGpu& gpu : geometry)
        for (const std::string& obstacle : obstacles(gpu))
            texts.push_back("the MIG instances of " + name_of(gpu) +
                            " could not be re-created after the swap: " + obstacle);
    if (are_instances_unknown(root, geometry)) {
        for (const MigGpu& gpu : geometry)
            if (!is_known(gpu))
                texts.push_back(unknown(gpu));
        if (texts.empty())
            texts.emplace_back("NVML does not describe all GPUs with MIG instances");
    }
    std::vector<Problem> problems;
    for (std::string& text : texts)
        problems.push_back({Errc::Refused, std::move(text), destroy_hint, {}});
    return problems;
}

Result<std::vector<Problem>> check(StepContext& context, const Json& /*args*/) {
    const auto geometry = ask_geometry(context.root, reading);
    if (!geometry)
        return std::vector<Problem>{
            {Errc::Refused,
             "GPUs are split into MIG instances, and NVML can't describe them: " + geometry.error().message,
             geometry.error().hint.empty() ? nvml_hint : geometry.error().hint,
             {}}};
    auto problems = problems_of(context.root, *geometry);
    for (const MigGpu& gpu : *geometry)
        if (!is_known(gpu) && problems.empty())
            context.warn(unknown(gpu));
        else if (gpu.split && is_known(gpu))
            context.warn(name_of(gpu) + " is split: the swap destroys and re-creates its " +
                         plural(count_devices(gpu), "MIG device"));
    return problems;
}

std::string join_texts(const std::vector<Problem>& problems) {
    std::vector<std::string> texts;
    for (const Problem& problem : problems)
        texts.push_back(problem.text);
    return base::join(texts, "; ");
}

/// Saves the GPUs that NVML describes. The others have no instances.
Result<Json> save(StepContext& context, const Json& args) {
    context.progress(-1, "reading the MIG instances");
    GPUHOST_TRY(geometry, ask_geometry(context.root, reading));
    if (const auto problems = problems_of(context.root, geometry); !problems.empty())
        return base::fail(problems.front().code, join_texts(problems), problems.front().hint);
    std::erase_if(geometry, [](const MigGpu& gpu) { return !is_known(gpu); });
    GPUHOST_CHECK(context.root.make_directories(context.staging));
    GPUHOST_CHECK(context.root.write_atomic(saved_path(context), base::dump(to_json(geometry)) + "\n"));
    if (base::bool_or(args, "keep", false))
        keep_saved(context, geometry);
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

/// Adds a problem for each saved GPU without a result.
void add_missing(const Geometry& saved, const std::vector<RestoredGpu>& results,
                 std::vector<std::string>& problems) {
    for (const MigGpu& gpu : saved)
        if (gpu.split && std::none_of(results.begin(), results.end(),
                                      [&](const RestoredGpu& result) { return result.uuid == gpu.uuid; }))
            problems.push_back(name_of(gpu) + ": NVML gave no answer");
}

/// An operation has neither the hint nor the warnings of a failed undo. So its message says what to do.
/// `keep`: what can't be created stays kept.
Result<Json> create_again(StepContext& context, const Geometry& saved, Restore scope, bool keep) {
    context.progress(-1, "creating the MIG instances");
    const auto answer = ask_restore(context.root, saved_path(context), scope, restoring);
    if (keep)
        keep_failures(context, saved, answer);
    GPUHOST_TRY(gpus, answer);
    std::vector<std::string> problems;
    std::size_t created = 0;
    for (const RestoredGpu& gpu : gpus) {
        created += gpu.created;
        for (const std::string& problem : gpu.problems)
            problems.push_back("GPU " + gpu.address + ": " + problem);
        if (scope == Restore::each_gpu && !gpu.commands.empty())
            problems.push_back("create what is missing: " + base::join(gpu.commands, " && "));
    }
    add_missing(saved, gpus, problems);
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
                                    : create_again(context, *saved, Restore::all_or_none, false);
}

/// Waits until the driver is loaded. After a boot the undo may run before udev has loaded its modules.
Result<void> wait_for_driver(const StepContext& context) {
    const auto end = std::chrono::steady_clock::now() + loading;
    while (!context.root.exists(driver_version)) {
        if (std::chrono::steady_clock::now() >= end)
            return base::fail(Errc::NotFound,
                              "the MIG instances are not created: no driver was loaded within " +
                                  std::to_string(loading.count()) + " s");
        context.progress(-1, "waiting for the driver");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return {};
}

Result<void> undo_save(StepContext& context, const Json& args) {
    GPUHOST_TRY(saved, read_saved(context));
    if (!saved || count_split(*saved) == 0)
        return {};
    GPUHOST_CHECK(wait_for_driver(context));
    GPUHOST_CHECK(create_again(context, *saved, Restore::each_gpu, base::bool_or(args, "keep", false)));
    return {};
}

} // namespace

std::size_t count_gpus_with_instances(const base::Root& root) {
    std::set<std::string> gpus;
    for (const std::string& instance : runtime::mig_instances(root))
        gpus.insert(instance.substr(0, instance.find('/')));
    return gpus.size();
}

std::vector<core::StepKind> mig_step_kinds() {
    std::vector<core::StepKind> kinds = keep_step_kinds();
    kinds.push_back(
        {.name = "mig.save",
         .sandbox = core::Sandbox::Mig,
         .deadline = std::chrono::minutes(15), // the undo waits, creates and may read the instances
         .ends_with_boot = true,
         .has_preflight = true,
         .has_undo = true});
    kinds.push_back({.name = "mig.restore",
                     .sandbox = core::Sandbox::Mig,
                     .deadline = std::chrono::minutes(10),
                     .ends_with_boot = true});
    return kinds;
}

std::vector<core::StepCode> mig_step_code() {
    core::StepCode saving{.name = "mig.save"};
    saving.preflight = check;
    saving.apply = save;
    saving.undo = undo_save;
    core::StepCode restoring{.name = "mig.restore"};
    restoring.apply = restore; // needs no verify: apply compares the instances after it has created them
    std::vector<core::StepCode> code = keep_step_code();
    code.push_back(std::move(saving));
    code.push_back(std::move(restoring));
    return code;
}

core::StepsAround mig_steps_around(std::size_t split, bool keep) {
    if (split == 0)
        return {};
    const std::string of = " the MIG instances of " + plural(split, "GPU");
    return {{},
            {{"mig.save", "save" + of, {{"keep", keep}}}},
            {{"mig.restore", "re-create" + of, Json::object()}},
            {}};
}

} // namespace gpuhost::devices
