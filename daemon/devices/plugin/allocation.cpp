// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/plugin/allocation.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <kubelet/deviceplugin.pb.h>

namespace gpuhost::devices {

using base::Errc;
using base::Result;

namespace {

using Texts = std::vector<std::string>;

constexpr const char* variable = "NVIDIA_VISIBLE_DEVICES";
/// The directory below which NVIDIA's runtime regards the name of each mount as a device.
constexpr const char* mounts = "/var/run/nvidia-container-devices";

using Devices = std::vector<const ResourceDevice*>;

/// Returns the devices, each once: replicas of one device are one device for the container.
Result<Devices> devices_for(const Resource& resource, const v1beta1::ContainerAllocateRequest& container) {
    if (container.devices_ids_size() > 1 && resource.one_each) // the words of NVIDIA's device plugin
        return base::fail(Errc::InvalidArgument,
                          "invalid allocation request for \"" + resource.name +
                              "\": invalid request: maximum request size for shared resources is 1; found " +
                              std::to_string(container.devices_ids_size()));
    Devices devices;
    for (const auto& id : container.devices_ids()) {
        const auto device = std::find_if(resource.devices.begin(), resource.devices.end(),
                                         [&id](const ResourceDevice& one) { return one.id == id; });
        if (device == resource.devices.end())
            return base::fail(Errc::NotFound, "this host has no device " + id);
        if (!device->unhealthy.empty())
            return base::fail(Errc::Busy, id + " is unhealthy: " + device->unhealthy);
        if (std::none_of(devices.begin(), devices.end(),
                         [&](const ResourceDevice* known) { return device_of(known->id) == device_of(id); }))
            devices.push_back(&*device);
    }
    return devices;
}

/// Returns the names by which container runtimes find the devices.
Texts names_of(const Devices& devices, IdStrategy strategy) {
    Texts names;
    for (const ResourceDevice* device : devices)
        names.push_back(strategy == IdStrategy::index ? device->index : std::string(device_of(device->id)));
    return names;
}

/// Returns the key of an annotation of CDI. It differs between the resources of a container, which have no
/// device in common. The longest UUID has 58 characters, and CDI permits 63 after the prefix.
std::string annotation_key(const std::string& uuid) {
    return "cdi.k8s.io/gpu_" + uuid;
}

/// Adds the nodes of PassDeviceSpecs=, each once.
void give_nodes(const Resource& resource, const Devices& devices, v1beta1::ContainerAllocateResponse& made) {
    Texts nodes = *resource.nodes;
    for (const ResourceDevice* device : devices)
        for (const std::string& node : device->nodes)
            if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
                nodes.push_back(node);
    for (const std::string& node : nodes) {
        auto* device = made.add_devices();
        device->set_host_path(node);
        device->set_container_path(node);
        device->set_permissions("rw");
    }
}

void give(const Resource& resource, const Devices& devices, v1beta1::ContainerAllocateResponse& made) {
    const ListStrategies& strategies = resource.strategies;
    const Texts names = names_of(devices, resource.ids);
    Texts cdi_names;
    for (const std::string& name : names)
        cdi_names.push_back("nvidia.com/gpu=" + name);
    if (strategies.contains(ListStrategy::cdi_cri))
        for (const std::string& name : cdi_names)
            made.add_cdi_devices()->set_name(name);
    if (strategies.contains(ListStrategy::cdi_annotations) && !devices.empty())
        (*made.mutable_annotations())[annotation_key(std::string(device_of(devices.front()->id)))] =
            base::join(cdi_names, ",");
    if (strategies.contains(ListStrategy::envvar))
        (*made.mutable_envs())[variable] = base::join(names, ",");
    if (strategies.contains(ListStrategy::volume_mounts)) {
        (*made.mutable_envs())[variable] = mounts;
        for (const std::string& name : names) {
            auto* mount = made.add_mounts();
            mount->set_host_path("/dev/null");
            mount->set_container_path(mounts + ("/" + name));
        }
    }
    if (resource.nodes && uses_nvidias_runtime(strategies))
        give_nodes(resource, devices, made);
}

} // namespace

Result<v1beta1::AllocateResponse> allocate(const Resource& resource, const std::string& withdrawn,
                                           const v1beta1::AllocateRequest& request) {
    if (!withdrawn.empty())
        return base::fail(Errc::Busy, withdrawn);
    v1beta1::AllocateResponse response;
    for (const auto& container : request.container_requests()) {
        GPUHOST_TRY(devices, devices_for(resource, container));
        give(resource, devices, *response.add_container_responses());
    }
    return response;
}

} // namespace gpuhost::devices
