// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/geometry.hpp"

#include "daemon/base/json.hpp"
#include "daemon/runtime/gpu/nvml_answer.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpuhost::devices {

using base::Errc;
using base::Json;
using base::Result;

namespace {

constexpr std::size_t most_instances = 32; ///< of one GPU, or of one GPU instance; GPUs have at most 8
constexpr std::int64_t last_number = 0xffff;

tl::unexpected<base::Error> bad(const std::string& what) {
    return base::fail(Errc::BadContent, "MIG geometry: " + what);
}

Result<unsigned> number_of(const Json& object, std::string_view key) {
    GPUHOST_TRY(number, base::get_int(object, key));
    if (number < 0 || number > last_number)
        return bad("'" + std::string(key) + "' is not a valid number");
    return static_cast<unsigned>(number);
}

Result<Placement> placement_of(const Json& object) {
    GPUHOST_TRY(start, number_of(object, "start"));
    GPUHOST_TRY(size, number_of(object, "size"));
    return Placement{start, size};
}

/// Returns the elements of an array; fails if it is missing or too long.
Result<const Json*> list_of(const Json& object, std::string_view key, std::size_t most) {
    const Json& list = base::member(object, key);
    if (!list.is_array() || list.size() > most)
        return bad("'" + std::string(key) + "' is not a valid list");
    return &list;
}

/// Sorts instances. Fails if an id or a placement occurs twice.
template <class Instance>
Result<void> sort(std::vector<Instance>& instances) {
    sort_by_id(instances);
    const auto twice = std::adjacent_find(instances.begin(), instances.end(),
                                          [](const Instance& a, const Instance& b) { return a.id == b.id; });
    if (twice != instances.end())
        return bad("the id " + std::to_string(twice->id) + " occurs twice");
    std::set<std::pair<unsigned, unsigned>> places;
    for (const Instance& one : instances)
        if (!places.emplace(one.placement.start, one.placement.size).second)
            return bad("two instances are at one place");
    return {};
}

Result<ComputeInstance> compute_instance_from_json(const Json& value) {
    ComputeInstance instance;
    GPUHOST_TRY(id, number_of(value, "id"));
    GPUHOST_TRY(profile, number_of(value, "profile"));
    GPUHOST_TRY(engine_profile, number_of(value, "engine_profile"));
    GPUHOST_TRY(placement, placement_of(value));
    std::string uuid = base::string_or(value, "uuid", "");
    if (!uuid.empty() && !runtime::is_uuid(uuid, "MIG-"))
        return bad("a MIG device has an invalid UUID");
    return ComputeInstance{id, profile, engine_profile, placement, std::move(uuid)};
}

Result<GpuInstance> gpu_instance_from_json(const Json& value) {
    GPUHOST_TRY(id, number_of(value, "id"));
    GPUHOST_TRY(profile, number_of(value, "profile"));
    GPUHOST_TRY(placement, placement_of(value));
    GpuInstance instance{id, profile, placement, {}};
    GPUHOST_TRY(list, list_of(value, "compute_instances", most_instances));
    for (const Json& element : *list) {
        GPUHOST_TRY(compute, compute_instance_from_json(element));
        instance.compute_instances.push_back(std::move(compute));
    }
    GPUHOST_CHECK(sort(instance.compute_instances));
    return instance;
}

Result<MigGpu> gpu_from_json(const Json& value) {
    MigGpu gpu;
    gpu.uuid = base::string_or(value, "uuid", "");
    gpu.address = base::string_or(value, "address", "");
    gpu.split = base::bool_or(value, "split", false);
    gpu.problem = base::string_or(value, "problem", "");
    const bool identified = runtime::is_uuid(gpu.uuid, "GPU-") || (gpu.uuid.empty() && !gpu.problem.empty());
    if (!identified || !runtime::is_address(gpu.address) || gpu.problem.size() > longest_problem)
        return bad("a GPU has an invalid UUID, address or problem");
    GPUHOST_TRY(list, list_of(value, "instances", most_instances));
    for (const Json& element : *list) {
        GPUHOST_TRY(instance, gpu_instance_from_json(element));
        gpu.instances.push_back(std::move(instance));
    }
    GPUHOST_CHECK(sort(gpu.instances));
    return gpu;
}

/// Returns true if no two GPUs or MIG devices have the same UUID.
bool unique_uuids(const Geometry& geometry) {
    std::set<std::string> uuids;
    bool unique = true;
    for (const MigGpu& gpu : geometry) {
        unique = (gpu.uuid.empty() || uuids.insert(gpu.uuid).second) && unique;
        for (const GpuInstance& outer : gpu.instances)
            for (const ComputeInstance& inner : outer.compute_instances)
                unique = (inner.uuid.empty() || uuids.insert(inner.uuid).second) && unique;
    }
    return unique;
}

Json to_json(const ComputeInstance& instance) {
    return {{"id", instance.id},
            {"profile", instance.profile},
            {"engine_profile", instance.engine_profile},
            {"start", instance.placement.start},
            {"size", instance.placement.size},
            {"uuid", instance.uuid}};
}

Json to_json(const GpuInstance& instance) {
    Json inner = Json::array();
    for (const ComputeInstance& one : instance.compute_instances)
        inner.push_back(to_json(one));
    return {{"id", instance.id},
            {"profile", instance.profile},
            {"start", instance.placement.start},
            {"size", instance.placement.size},
            {"compute_instances", std::move(inner)}};
}

} // namespace

Json to_json(const Geometry& geometry) {
    Json gpus = Json::array();
    for (const MigGpu& gpu : geometry) {
        Json instances = Json::array();
        for (const GpuInstance& instance : gpu.instances)
            instances.push_back(to_json(instance));
        gpus.push_back({{"uuid", gpu.uuid},
                        {"address", gpu.address},
                        {"split", gpu.split},
                        {"instances", std::move(instances)},
                        {"problem", gpu.problem}});
    }
    return {{"gpus", std::move(gpus)}};
}

Result<Geometry> geometry_from_json(const Json& value) {
    GPUHOST_TRY(list, list_of(value, "gpus", most_gpus));
    Geometry geometry;
    for (const Json& element : *list) {
        GPUHOST_TRY(gpu, gpu_from_json(element));
        geometry.push_back(std::move(gpu));
    }
    if (!unique_uuids(geometry))
        return bad("a UUID occurs twice");
    return geometry;
}

std::string name_of(const MigGpu& gpu) {
    if (gpu.address.empty() && gpu.uuid.empty())
        return "a GPU";
    return "GPU " + (gpu.address.empty() ? gpu.uuid : gpu.address);
}

std::size_t count_split(const Geometry& geometry) {
    return static_cast<std::size_t>(
        std::count_if(geometry.begin(), geometry.end(), [](const MigGpu& gpu) { return gpu.split; }));
}

std::size_t count_devices(const MigGpu& gpu) {
    std::size_t count = 0;
    for (const GpuInstance& instance : gpu.instances)
        count += instance.compute_instances.size();
    return count;
}

} // namespace gpuhost::devices
