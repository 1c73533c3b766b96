// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/prefer.hpp"

#include "daemon/devices/linked.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace gpuhost::devices {

namespace {

/// The replicas of one device that a container may get.
struct Replicas {
    std::vector<std::string> ids; ///< the first is the last one to choose
    std::optional<unsigned> numa;
    std::size_t chosen = 0; ///< for this container
};

/// NVIDIA's allocator of replicas. If several devices have equally many containers, those near the chosen
/// ones are preferred, then the first.
std::vector<std::string> prefer_replicas(const Resource& resource, const std::set<std::string>& available,
                                         const std::set<std::string>& required, std::size_t count) {
    std::vector<std::string> chosen;
    std::map<std::optional<unsigned>, int> near; // chosen replicas by NUMA node
    std::vector<Replicas> devices;
    std::string_view last;
    for (const ResourceDevice& device : resource.devices) {
        if (std::exchange(last, device_of(device.id)) != device_of(device.id))
            devices.push_back({{}, device.numa});
        if (required.count(device.id) != 0 && chosen.size() < count) {
            chosen.push_back(device.id);
            ++near[device.numa];
        } else if (available.count(device.id) != 0) {
            devices.back().ids.insert(devices.back().ids.begin(), device.id);
        }
    }
    const auto cost = [&](const Replicas& device) {
        const auto used = static_cast<int>(resource.replicas) - static_cast<int>(device.ids.size());
        return std::tuple(device.ids.empty(), resource.packed ? -used : used, device.chosen,
                          -near[device.numa]);
    };
    while (chosen.size() < count && !devices.empty()) {
        const auto best =
            std::min_element(devices.begin(), devices.end(),
                             [&](const auto& one, const auto& other) { return cost(one) < cost(other); });
        if (best->ids.empty())
            break;
        chosen.push_back(std::move(best->ids.back()));
        best->ids.pop_back();
        ++best->chosen;
        ++near[best->numa];
    }
    return chosen;
}

/// Adds devices of the rest to the chosen ones until there are `count`: near ones, of used GPUs.
void add_near(std::vector<const ResourceDevice*>& chosen, std::vector<const ResourceDevice*> rest,
              std::size_t count) {
    std::map<std::optional<unsigned>, int> free; // devices of the rest by NUMA node
    std::map<std::optional<unsigned>, int> near; // chosen devices by NUMA node
    std::map<std::string, int> free_of_gpu;
    for (const ResourceDevice* device : chosen)
        ++near[device->numa];
    for (const ResourceDevice* device : rest) {
        ++free[device->numa];
        ++free_of_gpu[device->gpu];
    }
    const auto cost = [&](const ResourceDevice* device) {
        const int node = free[device->numa];
        const bool too_small = node < static_cast<int>(count - chosen.size());
        // The smallest node that has enough comes first, so that large requests find a whole node later.
        return std::tuple(-near[device->numa], too_small, too_small ? -node : node, free_of_gpu[device->gpu]);
    };
    while (chosen.size() < count && !rest.empty()) {
        const auto best = std::min_element(rest.begin(), rest.end(), [&](const auto* one, const auto* other) {
            return cost(one) < cost(other);
        });
        chosen.push_back(*best);
        ++near[(*best)->numa];
        --free[(*best)->numa];
        --free_of_gpu[(*best)->gpu];
        rest.erase(best);
    }
}

} // namespace

std::vector<std::string> prefer(const Resource& resource, const std::set<std::string>& available,
                                const std::set<std::string>& required, std::size_t count) {
    if (resource.replicas > 1)
        return prefer_replicas(resource, available, required, count);
    std::vector<const ResourceDevice*> chosen;
    std::vector<const ResourceDevice*> rest;
    for (const ResourceDevice& device : resource.devices)
        if (required.count(device.id) != 0 && chosen.size() < count)
            chosen.push_back(&device);
        else if (available.count(device.id) != 0)
            rest.push_back(&device);
    std::vector<const ResourceDevice*> all = chosen;
    all.insert(all.end(), rest.begin(), rest.end());
    if (count < all.size() && all.size() <= most_linked && has_nvlinks(all))
        chosen = choose_linked(all, chosen.size(), count);
    else
        add_near(chosen, std::move(rest), count);
    std::vector<std::string> ids;
    for (const ResourceDevice* device : chosen)
        ids.push_back(device->id);
    return ids;
}

} // namespace gpuhost::devices
