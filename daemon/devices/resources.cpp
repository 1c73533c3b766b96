// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/resources.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace gpuhost::devices {

namespace {

ResourceDevice whole_gpu(const Gpu& gpu) {
    return {gpu.uuid,
            gpu.uuid,
            gpu.numa,
            "",
            gpu.nvlinks,
            std::to_string(gpu.index),
            {"/dev/nvidia" + std::to_string(gpu.minor)}};
}

/// Adds a MIG instance. One without known nodes is left out where containers need them.
void add_instance(const Offer& offer, const Gpu& gpu, const Instance& instance, Resource& resource) {
    if (offer.nodes && instance.nodes.empty()) {
        resource.problem = "the device nodes of MIG instance " + instance.uuid + " are unknown";
        return;
    }
    ResourceDevice device = whole_gpu(gpu);
    device.id = instance.uuid;
    device.nvlinks.clear();
    device.index += ":" + std::to_string(instance.index);
    device.nodes.insert(device.nodes.end(), instance.nodes.begin(), instance.nodes.end());
    resource.devices.push_back(std::move(device));
}

/// A split GPU has no CDI device of its own: it computes only through its instances.
Resource none(const Offer& offer) {
    Resource whole{offer.resource, {}, ""};
    for (const Gpu& gpu : offer.gpus) {
        if (!gpu.split)
            whole.devices.push_back(whole_gpu(gpu));
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
            for (const Instance& instance : gpu.instances)
                add_instance(offer, gpu, instance, whole);
    return whole;
}

std::vector<Resource> mixed(const Offer& offer) {
    std::map<std::string, Resource> resources;
    resources[offer.resource].name = offer.resource;
    for (const Gpu& gpu : offer.gpus) {
        if (!gpu.split)
            resources[offer.resource].devices.push_back(whole_gpu(gpu));
        for (const Instance& instance : gpu.instances) {
            if (instance.profile.empty()) {
                resources[offer.resource].problem =
                    "the profile of MIG instance " + instance.uuid + " is unknown";
                continue;
            }
            Resource& resource = resources[mig_resource(offer, instance.profile)];
            resource.name = mig_resource(offer, instance.profile);
            add_instance(offer, gpu, instance, resource);
        }
    }
    std::vector<Resource> list;
    for (auto& [name, resource] : resources)
        list.push_back(std::move(resource));
    return list;
}

/// Returns the resources without a sharing.
std::vector<Resource> plain(const Offer& offer) {
    if (offer.mig == MigStrategy::mixed)
        return mixed(offer);
    const auto split = [](const Gpu& gpu) { return gpu.split; };
    if (offer.mig == MigStrategy::single && std::any_of(offer.gpus.begin(), offer.gpus.end(), split))
        return {single(offer)};
    return {none(offer)};
}

void share(Resource& resource, const Sharing& sharing) {
    resource.replicas = replicas_of(sharing, resource.name);
    if (resource.replicas == 1)
        return;
    resource.one_each = sharing.one_each;
    resource.packed = sharing.packed;
    if (sharing.renamed)
        resource.name += shared_suffix;
    std::vector<ResourceDevice> devices;
    devices.reserve(resource.devices.size() * resource.replicas);
    for (const ResourceDevice& device : resource.devices)
        for (unsigned i = 0; i < resource.replicas; ++i) {
            devices.push_back(device);
            devices.back().id = replica_id(device.id, i);
        }
    resource.devices = std::move(devices);
}

} // namespace

std::string mig_resource(const Offer& offer, std::string profile) {
    // NVIDIA's device plugin writes "+" as ".", because a resource's name can't contain it.
    std::replace(profile.begin(), profile.end(), '+', '.');
    return offer.resource.substr(0, offer.resource.find('/') + 1) + "mig-" + profile;
}

std::vector<Resource> resources_of(const Offer& offer) {
    std::vector<Resource> resources = plain(offer);
    for (Resource& resource : resources) {
        share(resource, offer.sharing);
        resource.strategies = offer.strategies;
        resource.ids = offer.ids;
        resource.nodes = offer.nodes;
    }
    std::sort(resources.begin(), resources.end(),
              [](const Resource& one, const Resource& other) { return one.name < other.name; });
    return resources;
}

} // namespace gpuhost::devices
