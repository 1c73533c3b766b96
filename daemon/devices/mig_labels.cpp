// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig_labels.hpp"

#include "daemon/devices/resources.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gpuhost::devices {

namespace {

/// MIG instances of one profile.
struct Part {
    const Gpu* gpu = nullptr; ///< the GPU of the first instance
    const Instance* instance = nullptr;
    std::size_t count = 0;
};

/// Returns the instances by profile; GFD writes "+" in a profile as ".".
std::map<std::string, Part> parts_of(const std::vector<Gpu>& gpus) {
    std::map<std::string, Part> parts;
    for (const Gpu& gpu : gpus)
        for (const Instance& instance : gpu.instances) {
            std::string profile = instance.profile;
            std::replace(profile.begin(), profile.end(), '+', '.');
            Part& part = parts[std::move(profile)];
            if (part.count++ == 0) {
                part.gpu = &gpu;
                part.instance = &instance;
            }
        }
    return parts;
}

/// `resource` is the kubelet's.
void add_part(const Offer& offer, const std::string& resource, const std::string& profile, const Part& part,
              LabelGroup& group) {
    group.set_devices(sanitised(part.gpu->model) + "-MIG-" + sanitised(profile), part.count, offer.sharing,
                      resource);
    const Attributes& attributes = part.instance->attributes;
    if (attributes.memory_mib == 0)
        return;
    group.set("memory", attributes.memory_mib);
    group.set("multiprocessors", attributes.multiprocessors);
    group.set("slices.gi", attributes.gpu_slices);
    group.set("slices.ci", attributes.compute_slices);
    group.set("engines.copy", attributes.copy_engines);
    group.set("engines.decoder", attributes.decoders);
    group.set("engines.encoder", attributes.encoders);
    group.set("engines.jpeg", attributes.jpeg_engines);
    group.set("engines.ofa", attributes.ofa_engines);
}

} // namespace

void add_single_labels(const Offer& offer, Labels& labels) {
    const std::vector<Gpu>& gpus = offer.gpus;
    const auto is_split = [](const Gpu& gpu) { return gpu.split; };
    const auto first = std::find_if(gpus.begin(), gpus.end(), is_split);
    if (first == gpus.end())
        return;
    LabelGroup group(labels, whole_gpus);
    const auto parts = parts_of(gpus);
    const bool valid = parts.size() == 1 && !parts.begin()->first.empty() &&
                       std::all_of(gpus.begin(), gpus.end(),
                                   [](const Gpu& gpu) { return gpu.split && !gpu.instances.empty(); });
    if (valid)
        return add_part(offer, offer.resource, parts.begin()->first, parts.begin()->second, group);
    group.set("product", sanitised(first->model) + "-MIG-INVALID");
    group.set_number(0, 0, "");
    group.set("memory", 0);
}

void add_mixed_labels(const Offer& offer, Labels& labels) {
    for (const auto& [profile, part] : parts_of(offer.gpus))
        if (!profile.empty()) {
            LabelGroup group(labels, "nvidia.com/mig-" + profile);
            add_part(offer, mig_resource(offer, profile), profile, part, group);
        }
}

} // namespace gpuhost::devices
