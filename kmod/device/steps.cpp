// SPDX-License-Identifier: Apache-2.0
// Step driver.devices creates the device nodes of the loaded driver. args: {"when": "forward"|"back"}. A plan
// has it twice. The one after modules.converge ("forward") creates nodes for the new driver in apply, and
// does nothing in undo. The one before modules.converge ("back") does nothing in apply. Its undo runs after
// that of modules.converge, and creates nodes for the previous driver.
//
// Step driver.validate checks that the driver works. Its args: {"level": "kernel"|"nvml"|"cuda"
// (Validation=), "goal": goal, "gpus": PCI addresses that it must serve, "userland": directory, "units":
// client units that start again after it}. The levels "nvml" and "cuda" also query the driver's management
// library.
//
// Step driver.compute runs a computation on each GPU that CUDA lists (cuda.hpp); all must succeed. Its args:
// {"userland", "gpus": as above, "fabric": whether a fabric manager runs, for which GPUs with NVSwitches
// wait}. Fails if CUDA lists no GPU, or lacks one of "gpus". If CUDA lacks another GPU that the driver
// serves, the step only warns.
#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/device/cuda.hpp"
#include "kmod/device/devices.hpp"
#include "kmod/device/isolated.hpp"
#include "kmod/device/nvml.hpp"
#include "kmod/load/converge.hpp"
#include "kmod/module/kernel_state.hpp"
#include "kmod/step_code.hpp"
#include "kmod/units/companion_services.hpp"

#include <algorithm>

#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;
using core::Problem;
using core::StepContext;

constexpr std::uint64_t fabric_patience_us = 120'000'000;

/// Returns whether this step driver.devices creates nodes in apply. The other step driver.devices in a plan
/// ("when": "back") creates nodes only in undo.
bool is_forward(const base::Json& args) {
    return base::string_or(args, "when", "forward") == "forward";
}

Result<void> check_devices(const base::Root& root) {
    const std::vector<DeviceNode> missing = missing_devices(root);
    if (missing.empty())
        return {};
    return base::fail(Errc::Failed, "device node '" + missing.front().path +
                                        "' or its link in /dev/char is missing or wrong");
}

std::string nvml_library(const base::Json& args) {
    return base::string_or(args, "userland", "") + "/lib/libnvidia-ml.so.1";
}

std::string cuda_library(const base::Json& args) {
    return base::string_or(args, "userland", "") + "/lib/libcuda.so.1";
}

/// Calls ask_nvml() in a child process, because the worker may have more steps to run.
Result<NvmlReport> query_nvml_isolated(const base::Root& root, const base::Json& args) {
    const std::string library = root.host_path(nvml_library(args));
    GPUHOST_TRY(answer, run_isolated("NVML", [&]() -> Result<base::Json> {
                    GPUHOST_TRY(report, ask_nvml(library));
                    return base::Json{{"version", report.driver_version},
                                      {"devices", report.devices},
                                      {"split", report.split}};
                }));
    return NvmlReport{base::string_or(answer, "version", ""),
                      static_cast<unsigned>(base::int_or(answer, "devices", 0)),
                      static_cast<unsigned>(base::int_or(answer, "split", 0))};
}

Result<std::vector<std::string>> add_vectors_isolated(const base::Root& root, const base::Json& args) {
    const std::string library = root.host_path(cuda_library(args));
    GPUHOST_TRY(answer, run_isolated("CUDA", [&]() -> Result<base::Json> {
                    GPUHOST_TRY(gpus, add_vectors(library));
                    return base::Json{{"gpus", gpus}};
                }));
    return base::strings_or_empty(answer, "gpus");
}

/// Opens the nodes of all GPUs and holds them open for later steps. The driver stops a GPU that no process
/// has open, and starts it again for the next user. Ignores errors: the validation reports a GPU that cannot
/// start.
void keep_gpus_awake(const StepContext& context) {
    context.progress(-1, "starting the GPUs");
    core::hold_open(context, gpu_nodes(context.root));
}

std::string level_of(const base::Json& args) {
    return base::string_or(args, "level", "kernel");
}

bool wants_nvml(const base::Json& args) {
    return level_of(args) != "kernel";
}

PreflightResult validate_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    const std::string userland = base::string_or(args, "userland", "");
    const std::string version = base::string_or(base::member(args, "goal"), "version", "");
    const std::vector<std::string> units = base::strings_or_empty(args, "units");
    if (wants_nvml(args) && (userland.empty() || !context.root.exists(nvml_library(args))))
        problems.push_back({Errc::NotFound,
                            "Validation=" + level_of(args) + ": this driver has no NVML in the store",
                            "Import libnvidia-ml1 of the same version, or set Validation=kernel."});
    for (Problem& problem : check_companion_services(context.root, userland, version, units))
        problems.push_back(std::move(problem));
    for (const std::string& sentence : unfit_switch_libraries(context.root, userland, version, units))
        context.warn(sentence);
    return problems;
}

PreflightResult compute_preflight(StepContext& context, const base::Json& args) {
    std::vector<Problem> problems;
    for (const auto& [file, package] :
         {std::pair("libcuda.so.1", "libcuda1"),
          std::pair("libnvidia-ptxjitcompiler.so.1", "libnvidia-ptxjitcompiler1")})
        if (const std::string userland = base::string_or(args, "userland", "");
            userland.empty() || !context.root.exists(userland + "/lib/" + file))
            problems.push_back(
                {Errc::NotFound, std::string("Validation=cuda: this driver has no ") + file + " in the store",
                 std::string("Import ") + package + " of the same version, or set Validation=nvml."});
    return problems;
}

/// Returns whether a GPU has a MIG compute instance, by the driver's files in procfs.
bool has_compute_instance(const base::Root& root) {
    const auto below = [&](const std::string& directory, std::string_view prefix) {
        std::vector<std::string> names = root.list(directory).value_or(std::vector<std::string>());
        std::erase_if(names, [&](const std::string& name) { return !base::starts_with(name, prefix); });
        return names;
    };
    const std::string capabilities = "/proc/driver/nvidia/capabilities";
    for (const std::string& gpu : below(capabilities, "gpu"))
        for (const std::string& instance : below(capabilities + "/" + gpu + "/mig", "gi"))
            if (!below(capabilities + "/" + gpu + "/mig/" + instance, "ci").empty())
                return true;
    return false;
}

/// Returns how many devices CUDA lists on a host with `gpus` GPUs, `split` of them with MIG enabled. If there
/// is a MIG compute instance, CUDA lists one instance and no GPU. Otherwise it lists the GPUs that have MIG
/// disabled (NVIDIA's MIG User Guide, "CUDA Device Enumeration").
std::size_t shown_by_cuda(const base::Root& root, std::size_t gpus, std::size_t split) {
    if (split != 0 && has_compute_instance(root))
        return 1;
    return gpus - std::min(gpus, split);
}

struct Counted {
    std::size_t seen = 0;     ///< devices that the library lists
    std::size_t served = 0;   ///< GPUs that the loaded driver serves
    std::size_t required = 0; ///< those served GPUs that must be listed
};

/// Returns how many of the served GPUs are in "gpus" of the args and respond on the PCI bus.
std::size_t required_of(const base::Root& root, const std::vector<std::string>& served,
                        const base::Json& args) {
    const std::vector<std::string> required = base::strings_or_empty(args, "gpus");
    return static_cast<std::size_t>(
        std::count_if(served.begin(), served.end(), [&](const std::string& address) {
            return std::find(required.begin(), required.end(), address) != required.end() &&
                   answers_on_pci(root, address);
        }));
}

/// Fails if the library lists no device, or fewer than required. Warns if it lists fewer than the driver
/// serves.
Result<void> check_count(const StepContext& context, std::string_view library, const Counted& gpus) {
    if (gpus.seen >= gpus.served)
        return {};
    const std::string text = std::string(library) + " reports " + std::to_string(gpus.seen) + " of " +
                             std::to_string(gpus.served) + " GPUs";
    if (gpus.seen == 0 || gpus.seen < gpus.required)
        return base::fail(Errc::Failed, text, "See the kernel's log: journalctl -k -g NVRM.");
    context.warn(text + "; see the kernel's log: journalctl -k -g NVRM");
    return {};
}

Result<base::Json> compute(StepContext& context, const base::Json& args) {
    context.progress(-1, "computing on each GPU");
    const bool fabric = base::bool_or(args, "fabric", false);
    const std::uint64_t until = base::monotonic_us() + (fabric ? fabric_patience_us : 0);
    auto computed = add_vectors_isolated(context.root, args);
    while (!computed && computed.error().code == Errc::Busy && base::monotonic_us() < until) {
        context.progress(-1, "waiting for the fabric of NVSwitches");
        ::usleep(2'000'000);
        computed = add_vectors_isolated(context.root, args);
    }
    // Skips the computation at boot, where the fabric manager starts only after this step.
    if (!computed && computed.error().code == Errc::Busy && !fabric) {
        context.note("no computation on the GPUs: they wait for nvidia-fabricmanager");
        return base::Json{{"waits", "fabric"}};
    }
    GPUHOST_TRY(gpus, std::move(computed));
    GPUHOST_TRY(report, query_nvml_isolated(context.root, args));
    const std::vector<std::string> served = served_gpus(context.root);
    GPUHOST_CHECK(
        check_count(context, "CUDA",
                    {gpus.size(), shown_by_cuda(context.root, served.size(), report.split),
                     shown_by_cuda(context.root, required_of(context.root, served, args), report.split)}));
    return base::Json{{"gpus", gpus}};
}

Result<base::Json> validate(StepContext& context, const base::Json& args) {
    const ModuleGoal goal = goal_from_json(base::member(args, "goal"));
    GPUHOST_CHECK(check_kernel(context.root, goal));
    GPUHOST_CHECK(check_gpus(context.root, goal, base::strings_or_empty(args, "gpus")));
    GPUHOST_CHECK(check_devices(context.root));
    if (!wants_nvml(args))
        return base::Json{{"level", "kernel"}};
    keep_gpus_awake(context);
    context.progress(-1, "querying NVML");
    GPUHOST_TRY(report, query_nvml_isolated(context.root, args));
    if (report.driver_version != goal.version)
        return base::fail(Errc::Failed,
                          "NVML reports driver " + report.driver_version + ", expected " + goal.version);
    const std::vector<std::string> served = served_gpus(context.root);
    GPUHOST_CHECK(check_count(context, "NVML",
                              {report.devices, served.size(), required_of(context.root, served, args)}));
    return base::Json{{"level", level_of(args)}, {"devices", report.devices}};
}

} // namespace

core::StepCode driver_devices_code() {
    core::StepCode code;
    code.name = "driver.devices";
    code.apply = [](StepContext& context, const base::Json& args) -> Result<base::Json> {
        if (is_forward(args))
            GPUHOST_CHECK(make_devices(context.root));
        return base::Json::object();
    };
    code.verify = [](StepContext& context, const base::Json& args) {
        return is_forward(args) ? check_devices(context.root) : Result<void>{};
    };
    code.undo = [](StepContext& context, const base::Json& args) {
        return is_forward(args) ? Result<void>{} : make_devices(context.root);
    };
    return code;
}

core::StepCode driver_validate_code() {
    // Needs no verify: apply changes nothing.
    return {.name = "driver.validate", .preflight = validate_preflight, .apply = validate};
}

core::StepCode driver_compute_code() {
    // Needs no verify: apply changes nothing.
    return {.name = "driver.compute", .preflight = compute_preflight, .apply = compute};
}

} // namespace gpuhost::kmod
