// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/nvml_restore.hpp"

#include "daemon/devices/mig/nvml_geometry.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace gpuhost::devices {

using base::Errc;
using base::Result;
using runtime::NvmlLibrary;
namespace nvml = runtime::nvml;

namespace {

/// Other programs, such as udev's, may have a new driver's GPU open for a moment.
constexpr unsigned mode_attempts = 5;
constexpr std::chrono::seconds mode_interval{1};

/// One GPU of the saved geometry.
struct Task {
    const MigGpu& saved;
    nvml::Device device = nullptr;
    bool split = false; ///< the MIG mode is on
    RestorePlan plan;
    RestoredGpu result;
};

class Restorer {
  public:
    Restorer(const NvmlLibrary& library, Restore scope)
        : library_(library), geometry_(library), scope_(scope) {}

    [[nodiscard]] Task plan(const MigGpu& saved) const {
        Task task{saved, nullptr, false, {}, {saved.uuid, saved.address, false, 0, 0, {}, {}}};
        const auto found = find(task);
        const auto present = found ? geometry_.read(task.device) : std::nullopt;
        if (!found)
            task.result.problems.push_back(found.error().message);
        else if (!present)
            task.result.problems.emplace_back("the driver does not support MIG on this GPU");
        if (!present)
            return task;
        task.split = present->split;
        task.plan = plan_restore(saved, *present, geometry_.placements(task.device, saved));
        task.result.kept = task.plan.kept;
        task.result.problems = task.plan.problems;
        if (scope_ == Restore::after_boot && !task.split && does_mode_last(task.device))
            task.result.problems.emplace_back("the MIG mode was switched off");
        return task;
    }

    void enable(Task& task) const {
        if (task.split)
            return;
        const auto done = try_enable(task);
        task.result.mode_changed = done.has_value();
        if (!done)
            task.result.problems.push_back(done.error().message);
    }

    void create(Task& task) const {
        if (const auto done = try_create(task); !done)
            task.result.problems.push_back(done.error().message);
    }

    /// Adds commands for what is missing.
    void add_commands(Task& task) const {
        const auto present = find(task) ? geometry_.read(task.device) : std::nullopt;
        if (!present)
            return;
        const auto missing =
            plan_restore(task.saved, *present, geometry_.placements(task.device, task.saved)).creations;
        if (!missing.empty())
            task.result.commands = creation_commands(task.saved.uuid, present->split, missing,
                                                     geometry_.profiles(task.device, task.saved));
    }

  private:
    [[nodiscard]] Result<void> find(Task& task) const {
        const int error = library_.device_by_uuid(task.saved.uuid.c_str(), &task.device);
        if (error == nvml::not_found)
            return base::fail(Errc::NotFound, "the GPU is missing");
        return geometry_.check("nvmlDeviceGetHandleByUUID", error);
    }

    [[nodiscard]] Result<void> try_create(Task& task) const {
        GPUHOST_CHECK(find(task));
        for (const Creation& creation : task.plan.creations)
            GPUHOST_CHECK(create(task, creation));
        const auto present = geometry_.read(task.device);
        if (!present)
            return base::fail(Errc::Failed, "NVML does not describe the GPU any more");
        for (std::string& difference : differences(task.saved, *present))
            task.result.problems.push_back(std::move(difference));
        return {};
    }

    [[nodiscard]] Result<void> try_enable(const Task& task) const {
        int activation = nvml::success;
        int error = nvml::success;
        for (unsigned attempt = 1;; ++attempt) {
            error = library_.set_mig_mode(task.device, nvml::mig_enabled, &activation);
            const bool in_use = error == nvml::in_use || activation == nvml::in_use;
            if (!in_use || attempt == mode_attempts)
                break;
            std::this_thread::sleep_for(mode_interval);
        }
        GPUHOST_CHECK(geometry_.check("nvmlDeviceSetMigMode", error));
        if (activation != nvml::success) { // else a later reset of the GPU would switch it on
            int ignored = nvml::success;
            (void)library_.set_mig_mode(task.device, nvml::mig_disabled, &ignored);
        }
        if (activation == nvml::reset_required)
            return base::fail(Errc::Failed, "the MIG mode is off, and a reset of the GPU must turn it on");
        return geometry_.check("the activation of the MIG mode", activation);
    }

    [[nodiscard]] Result<void> create(Task& task, const Creation& creation) const {
        const GpuInstance& wanted = creation.gpu_instance;
        nvml::GpuInstance outer = nullptr;
        if (creation.exists) {
            GPUHOST_TRY(found, find(task.device, wanted));
            outer = found;
        } else {
            const auto profile_id = geometry_.gpu_profile_id(task.device, wanted.profile);
            const nvml::Placement placement{wanted.placement.start, wanted.placement.size};
            GPUHOST_CHECK(geometry_.check(
                ("GPU instance " + std::to_string(wanted.id) + ": nvmlDeviceCreateGpuInstanceWithPlacement")
                    .c_str(),
                library_.create_gpu_instance(task.device, profile_id.value_or(0), &placement, &outer)));
        }
        for (const ComputeInstance& inner : wanted.compute_instances)
            GPUHOST_CHECK(create(task, wanted, outer, inner));
        return {};
    }

    /// Finds a GPU instance by its profile and placement.
    [[nodiscard]] Result<nvml::GpuInstance> find(nvml::Device device, const GpuInstance& wanted) const {
        const auto profile_id = geometry_.gpu_profile_id(device, wanted.profile);
        GPUHOST_TRY(handles, geometry_.gpu_instances(device, profile_id.value_or(0)));
        for (const nvml::GpuInstance handle : handles) {
            nvml::GpuInstanceInfo info{};
            if (library_.gpu_instance_info(handle, &info) == nvml::success &&
                info.placement.start == wanted.placement.start &&
                info.placement.size == wanted.placement.size)
                return handle;
        }
        return base::fail(Errc::NotFound, "GPU instance " + std::to_string(wanted.id) + " has vanished");
    }

    [[nodiscard]] Result<void> create(Task& task, const GpuInstance& outer, nvml::GpuInstance handle,
                                      const ComputeInstance& inner) const {
        const std::string name =
            "compute instance " + std::to_string(inner.id) + " of GPU instance " + std::to_string(outer.id);
        const auto profile_id = geometry_.compute_profile_id(handle, inner);
        if (!profile_id)
            return base::fail(Errc::Unsupported, name + ": the driver does not have its profile");
        const nvml::Placement placement{inner.placement.start, inner.placement.size};
        nvml::ComputeInstance created = nullptr;
        GPUHOST_CHECK(
            geometry_.check((name + ": nvmlGpuInstanceCreateComputeInstanceWithPlacement").c_str(),
                            library_.create_compute_instance(handle, *profile_id, &placement, &created)));
        ++task.result.created;
        return {};
    }

    /// Returns true if the GPU itself stores its MIG mode: A100 and A30. Later ones lose it with the driver.
    [[nodiscard]] bool does_mode_last(nvml::Device device) const {
        int major = 0;
        int minor = 0;
        return library_.compute_capability(device, &major, &minor) == nvml::success && major == nvml::ampere;
    }

    const NvmlLibrary& library_;
    NvmlGeometry geometry_;
    Restore scope_;
};

bool is_well(const Task& task) {
    return task.result.problems.empty();
}

/// Switches the MIG mode on where it is off. This may reset GPUs, so NVML is initialized again.
void enable(const Restorer& restorer, const NvmlLibrary& library, std::vector<Task>& tasks) {
    for (Task& task : tasks)
        if (is_well(task))
            restorer.enable(task);
    if (std::none_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.result.mode_changed; }))
        return;
    if (const auto started = library.restart(); !started)
        for (Task& task : tasks)
            task.result.problems.push_back(started.error().message);
}

} // namespace

std::vector<RestoredGpu> restore_geometry(const NvmlLibrary& library, const Geometry& saved, Restore scope) {
    const Restorer restorer(library, scope);
    std::vector<Task> tasks;
    for (const MigGpu& gpu : saved)
        if (gpu.split)
            tasks.push_back(restorer.plan(gpu));
    std::vector<RestoredGpu> results;
    if (scope != Restore::all_or_none || std::all_of(tasks.begin(), tasks.end(), is_well)) {
        enable(restorer, library, tasks);
        for (Task& task : tasks)
            if (is_well(task))
                restorer.create(task);
    }
    for (Task& task : tasks) {
        if (!is_well(task))
            restorer.add_commands(task);
        results.push_back(std::move(task.result));
    }
    return results;
}

} // namespace gpuhost::devices
