// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/kept.hpp"

#include "daemon/base/json.hpp"
#include "daemon/devices/mig/restore_plan.hpp"
#include "daemon/runtime/gpu/gpus.hpp"

#include <algorithm>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;
using base::Root;

namespace {

const MigGpu* find_gpu(const Geometry& geometry, const std::string& uuid) {
    const auto found =
        std::find_if(geometry.begin(), geometry.end(), [&](const MigGpu& gpu) { return gpu.uuid == uuid; });
    return found == geometry.end() ? nullptr : &*found;
}

/// Returns the GPU that NVML identifies as `gpu`, else the one in its place that NVML can't identify.
const MigGpu* find_present(const Geometry& present, const MigGpu& gpu) {
    if (const MigGpu* const same = find_gpu(present, gpu.uuid))
        return same;
    const auto unknown = std::find_if(present.begin(), present.end(), [&](const MigGpu& one) {
        return one.uuid.empty() && one.address == gpu.address;
    });
    return unknown == present.end() ? nullptr : &*unknown;
}

/// Returns `gpu` with the failure that applies to it; nullopt: none does.
std::optional<MigGpu> failed_gpu(const MigGpu& gpu, const MigGpu* present, const MigGpu* before,
                                 const Failures& failures) {
    const bool is_known = present != nullptr && present->problem.empty();
    MigGpu failed{gpu.uuid, gpu.address, gpu.split, {}, ""};
    if (is_known)
        failed.instances = present->instances;
    if (const auto failure = failures.find(gpu.uuid); failure != failures.end()) {
        failed.problem = failure->second.substr(0, longest_problem);
        return failed;
    }
    if (before == nullptr)
        return std::nullopt;
    if (!is_known)
        return *before;
    const bool is_part = missing(*present, gpu).empty() && !missing(gpu, *present).empty();
    failed.problem = before->problem;
    return is_part || present->instances == before->instances ? std::optional(failed) : std::nullopt;
}

/// Returns why the instances of `gpu` stay kept; empty if those of `present` replace them.
std::string missing_because(const MigGpu& gpu, const MigGpu* present) {
    if (gpu.instances.empty())
        return "";
    if (present == nullptr)
        return "the GPU is missing, or NVML can't identify it, or it does not support MIG with this driver";
    if (!present->problem.empty())
        return "NVML can't describe them: " + present->problem;
    return present->instances.empty() ? "they were destroyed" : "";
}

bool has_instances(const Geometry& gpus) {
    return std::any_of(gpus.begin(), gpus.end(), [](const MigGpu& gpu) { return !gpu.instances.empty(); });
}

} // namespace

Json to_json(const KeptMig& kept) {
    Json value = to_json(kept.gpus);
    value["instances"] = kept.instances;
    value["problems"] = kept.problems;
    value["failed"] = base::member(to_json(kept.failed), "gpus");
    return value;
}

Result<KeptMig> kept_from_json(const Json& value) {
    GPUHOST_TRY(gpus, geometry_from_json(value));
    GPUHOST_TRY(instances, base::get_strings(value, "instances"));
    GPUHOST_TRY(problems, base::get_strings(value, "problems"));
    GPUHOST_TRY(failed, geometry_from_json({{"gpus", base::member(value, "failed")}}));
    return KeptMig{std::move(gpus), std::move(instances), std::move(problems), std::move(failed)};
}

Result<std::optional<KeptMig>> read_kept(const Root& root) {
    const auto text = root.read(kept_path, largest_geometry);
    if (!text && text.error().code == Errc::NotFound)
        return std::nullopt;
    const auto value = text ? base::parse_json(*text, kept_path) : base::fail(text.error());
    auto kept = value ? kept_from_json(*value) : base::fail(value.error());
    if (kept)
        return std::optional(*std::move(kept));
    return base::fail(Errc::BadContent,
                      "the kept MIG instances in " + std::string(kept_path) +
                          " can't be read: " + kept.error().message,
                      "Keep the present instances instead: gpuhostctl apply --only mig.");
}

Result<void> write_kept(const Root& root, const KeptMig& kept) {
    if (!has_instances(kept.gpus) && kept.instances.empty() && kept.problems.empty())
        return root.remove(kept_path);
    GPUHOST_CHECK(root.make_directories(kept_path.substr(0, kept_path.rfind('/'))));
    return root.write_atomic(kept_path, base::dump_pretty(to_json(kept)));
}

bool is_recreation_due(const Root& root) {
    if (root.exists(tried_path))
        return false;
    const auto kept = read_kept(root);
    return kept && *kept && has_instances((*kept)->gpus);
}

std::vector<std::string> listed_instances(const Root& root) {
    std::vector<std::string> instances = runtime::mig_instances(root);
    std::sort(instances.begin(), instances.end());
    return instances;
}

KeptMig keep_present(const KeptMig& kept, const Geometry& present, const Failures& failures) {
    KeptMig result;
    for (const MigGpu& gpu : kept.gpus) {
        const MigGpu* const now = find_present(present, gpu);
        auto failed = failed_gpu(gpu, now, find_gpu(kept.failed, gpu.uuid), failures);
        const std::string why = failed ? failed->problem : missing_because(gpu, now);
        if (why.empty())
            continue;
        result.gpus.push_back(gpu);
        if (failed)
            result.failed.push_back(*std::move(failed));
        result.problems.push_back("MIG instances of " + name_of(gpu) + " (" + gpu.uuid +
                                  ") are missing: " + why);
    }
    for (const MigGpu& gpu : present)
        if (gpu.split && gpu.problem.empty() && find_gpu(result.gpus, gpu.uuid) == nullptr)
            result.gpus.push_back(gpu);
    return result;
}

} // namespace gpuhost::devices
