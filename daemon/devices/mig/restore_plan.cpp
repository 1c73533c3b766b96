// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/restore_plan.hpp"

#include <algorithm>

namespace gpuhost::devices {

namespace {

template <class Instance>
bool same_place(const Instance& a, const Instance& b) {
    return a.profile == b.profile && a.placement == b.placement;
}

template <class Instance>
const Instance* find_same(const std::vector<Instance>& instances, const Instance& wanted) {
    const auto found = std::find_if(instances.begin(), instances.end(),
                                    [&](const Instance& one) { return same_place(one, wanted); });
    return found == instances.end() ? nullptr : &*found;
}

std::string name_of(const GpuInstance& instance) {
    return "GPU instance " + std::to_string(instance.id);
}

std::string name_of(const GpuInstance& outer, const ComputeInstance& inner) {
    return "compute instance " + std::to_string(inner.id) + " of " + name_of(outer);
}

std::string describe(const Placement& placement) {
    return std::to_string(placement.start) + ":" + std::to_string(placement.size);
}

/// Adds what is missing in an existing GPU instance.
void plan_inside(const GpuInstance& saved, const GpuInstance& present, RestorePlan& plan) {
    Creation creation{saved, true};
    creation.gpu_instance.compute_instances.clear();
    for (const ComputeInstance& one : saved.compute_instances)
        if (find_same(present.compute_instances, one) == nullptr)
            creation.gpu_instance.compute_instances.push_back(one);
        else
            ++plan.kept;
    for (const ComputeInstance& one : present.compute_instances)
        if (find_same(saved.compute_instances, one) == nullptr)
            plan.problems.push_back(name_of(present, one) + " exists, and did not before");
    if (!creation.gpu_instance.compute_instances.empty())
        plan.creations.push_back(std::move(creation));
}

void plan_new(const GpuInstance& saved, const PossiblePlacements& possible, RestorePlan& plan) {
    const auto placements = possible.find(saved.profile);
    if (placements == possible.end())
        plan.problems.push_back(name_of(saved) + ": the driver does not have its profile");
    else if (std::find(placements->second.begin(), placements->second.end(), saved.placement) ==
             placements->second.end())
        plan.problems.push_back(name_of(saved) + ": the driver does not permit its placement " +
                                describe(saved.placement));
    else
        plan.creations.push_back({saved, false});
}

} // namespace

RestorePlan plan_restore(const MigGpu& saved, const MigGpu& present, const PossiblePlacements& possible) {
    RestorePlan plan;
    if (!saved.split)
        return plan;
    if (!present.problem.empty()) {
        plan.problems.push_back(present.problem);
        return plan;
    }
    for (const GpuInstance& one : saved.instances)
        if (const GpuInstance* const same = find_same(present.instances, one))
            plan_inside(one, *same, plan);
        else
            plan_new(one, possible, plan);
    for (const GpuInstance& one : present.instances)
        if (find_same(saved.instances, one) == nullptr)
            plan.problems.push_back(name_of(one) + " exists, and did not before");
    if (!plan.problems.empty())
        plan.creations.clear();
    return plan;
}

std::vector<std::string> obstacles(const MigGpu& gpu) {
    if (!gpu.split)
        return {};
    std::vector<std::string> found;
    for (const GpuInstance& outer : gpu.instances) {
        unsigned next = 0;
        for (const ComputeInstance& inner : outer.compute_instances) {
            if (inner.id != next++)
                found.push_back(name_of(outer, inner) +
                                " would get another id, because a compute instance before it was destroyed");
            if (inner.uuid.empty())
                found.push_back("the UUID of " + name_of(outer, inner) + " is unknown");
        }
    }
    return found;
}

std::vector<std::string> missing(const MigGpu& saved, const MigGpu& present) {
    if (!present.problem.empty())
        return {present.problem};
    std::vector<std::string> found;
    for (const GpuInstance& outer : saved.instances) {
        const GpuInstance* const new_outer = find_same(present.instances, outer);
        if (new_outer == nullptr)
            found.push_back(name_of(outer) + " is missing");
        for (const ComputeInstance& inner : outer.compute_instances)
            if (new_outer == nullptr || find_same(new_outer->compute_instances, inner) == nullptr)
                found.push_back(name_of(outer, inner) + " is missing");
    }
    return found;
}

std::vector<std::string> differences(const MigGpu& saved, const MigGpu& present) {
    std::vector<std::string> found = missing(saved, present);
    for (const GpuInstance& outer : saved.instances) {
        const GpuInstance* const new_outer = find_same(present.instances, outer);
        for (const ComputeInstance& inner : outer.compute_instances) {
            const ComputeInstance* const new_inner =
                new_outer == nullptr ? nullptr : find_same(new_outer->compute_instances, inner);
            if (new_inner != nullptr && new_inner->uuid != inner.uuid)
                found.push_back(name_of(outer, inner) + " had the UUID " + inner.uuid + ", and has " +
                                (new_inner->uuid.empty() ? "none" : new_inner->uuid));
        }
    }
    return found;
}

} // namespace gpuhost::devices
