// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/resources.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace gpuhost::devices {

namespace {

/// Returns the name of the resource of a MIG profile. NVIDIA's device plugin writes "+" as "."; a resource's
/// name can't contain it.
std::string mig_resource(const Offer& offer, std::string profile) {
    std::replace(profile.begin(), profile.end(), '+', '.');
    return offer.resource.substr(0, offer.resource.find('/') + 1) + "mig-" + profile;
}

void add_instances(const Gpu& gpu, Resource& resource) {
    for (const Instance& instance : gpu.instances)
        resource.devices.push_back({instance.uuid, gpu.uuid, gpu.numa, ""});
}

/// A split GPU has no CDI device of its own: it computes only through its instances.
Resource none(const Offer& offer) {
    Resource whole{offer.resource, {}, ""};
    for (const Gpu& gpu : offer.gpus) {
        if (!gpu.split)
            whole.devices.push_back({gpu.uuid, gpu.uuid, gpu.numa, ""});
        else if (whole.problem.empty())
            whole.problem = "MIG is on for " + gpu.uuid + ", and MigStrategy=none offers no MIG instances";
    }
    return whole;
}

/// Returns why the GPUs can't be offered as instances of one kind; empty if they can.
std::string why_not_single(const std::vector<Gpu>& gpus) {
    std::set<std::string> profiles;
    for (const Gpu& gpu : gpus) {
        if (!gpu.split)
            return "MIG is on for some GPUs only, and MigStrategy=single needs it on for all or none";
        for (const Instance& instance : gpu.instances)
            profiles.insert(instance.profile);
    }
    return profiles.size() <= 1
               ? ""
               : "MigStrategy=single needs MIG instances of one profile, and there are several";
}

Resource single(const Offer& offer) {
    Resource whole{offer.resource, {}, why_not_single(offer.gpus)};
    if (whole.problem.empty())
        for (const Gpu& gpu : offer.gpus)
            add_instances(gpu, whole);
    return whole;
}

std::vector<Resource> mixed(const Offer& offer) {
    std::map<std::string, Resource> resources;
    resources[offer.resource].name = offer.resource;
    for (const Gpu& gpu : offer.gpus) {
        if (!gpu.split)
            resources[offer.resource].devices.push_back({gpu.uuid, gpu.uuid, gpu.numa, ""});
        for (const Instance& instance : gpu.instances) {
            if (instance.profile.empty()) {
                resources[offer.resource].problem =
                    "the profile of MIG instance " + instance.uuid + " is unknown";
                continue;
            }
            Resource& resource = resources[mig_resource(offer, instance.profile)];
            resource.name = mig_resource(offer, instance.profile);
            resource.devices.push_back({instance.uuid, gpu.uuid, gpu.numa, ""});
        }
    }
    std::vector<Resource> list;
    for (auto& [name, resource] : resources)
        list.push_back(std::move(resource));
    return list;
}

} // namespace

std::vector<Resource> resources_of(const Offer& offer) {
    if (offer.mig == MigStrategy::mixed)
        return mixed(offer);
    const auto split = [](const Gpu& gpu) { return gpu.split; };
    if (offer.mig == MigStrategy::single && std::any_of(offer.gpus.begin(), offer.gpus.end(), split))
        return {single(offer)};
    return {none(offer)};
}

std::vector<std::string> prefer(const Resource& resource, const std::set<std::string>& available,
                                const std::set<std::string>& required, std::size_t count) {
    std::vector<std::string> chosen;
    std::map<std::optional<unsigned>, int> free; // available devices by NUMA node
    std::map<std::optional<unsigned>, int> near; // chosen devices by NUMA node
    std::map<std::string, int> free_of_gpu;
    std::vector<const ResourceDevice*> rest;
    for (const ResourceDevice& device : resource.devices) {
        if (required.count(device.id) != 0 && chosen.size() < count) {
            chosen.push_back(device.id);
            ++near[device.numa];
        } else if (available.count(device.id) != 0) {
            rest.push_back(&device);
            ++free[device.numa];
            ++free_of_gpu[device.gpu];
        }
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
        chosen.push_back((*best)->id);
        ++near[(*best)->numa];
        --free[(*best)->numa];
        --free_of_gpu[(*best)->gpu];
        rest.erase(best);
    }
    return chosen;
}

} // namespace gpuhost::devices
