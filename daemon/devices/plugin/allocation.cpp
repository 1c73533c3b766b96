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

/// Returns the UUIDs of the devices, each once: replicas of one device are one device for the container.
Result<Texts> uuids_of(const Resource& resource, const v1beta1::ContainerAllocateRequest& container) {
    if (container.devices_ids_size() > 1 && resource.one_each) // the words of NVIDIA's device plugin
        return base::fail(Errc::InvalidArgument,
                          "invalid allocation request for \"" + resource.name +
                              "\": invalid request: maximum request size for shared resources is 1; found " +
                              std::to_string(container.devices_ids_size()));
    Texts uuids;
    for (const auto& id : container.devices_ids()) {
        const auto device = std::find_if(resource.devices.begin(), resource.devices.end(),
                                         [&id](const ResourceDevice& one) { return one.id == id; });
        if (device == resource.devices.end())
            return base::fail(Errc::NotFound, "this host has no device " + id);
        if (!device->unhealthy.empty())
            return base::fail(Errc::Busy, id + " is unhealthy: " + device->unhealthy);
        if (const std::string_view uuid = device_of(id);
            std::find(uuids.begin(), uuids.end(), uuid) == uuids.end())
            uuids.emplace_back(uuid);
    }
    return uuids;
}

/// Returns the key of an annotation of CDI. It differs between the resources of a container, which have no
/// device in common. The longest UUID has 58 characters, and CDI permits 63 after the prefix.
std::string annotation_key(const std::string& uuid) {
    return "cdi.k8s.io/gpu_" + uuid;
}

void give(const ListStrategies& strategies, const Texts& uuids, v1beta1::ContainerAllocateResponse& made) {
    Texts names;
    for (const std::string& uuid : uuids)
        names.push_back("nvidia.com/gpu=" + uuid);
    if (strategies.contains(ListStrategy::cdi_cri))
        for (const std::string& name : names)
            made.add_cdi_devices()->set_name(name);
    if (strategies.contains(ListStrategy::cdi_annotations) && !uuids.empty())
        (*made.mutable_annotations())[annotation_key(uuids.front())] = base::join(names, ",");
    if (strategies.contains(ListStrategy::envvar))
        (*made.mutable_envs())[variable] = base::join(uuids, ",");
    if (!strategies.contains(ListStrategy::volume_mounts))
        return;
    (*made.mutable_envs())[variable] = mounts;
    for (const std::string& uuid : uuids) {
        auto* mount = made.add_mounts();
        mount->set_host_path("/dev/null");
        mount->set_container_path(mounts + ("/" + uuid));
    }
}

} // namespace

Result<v1beta1::AllocateResponse> allocate(const Resource& resource, const std::string& withdrawn,
                                           const v1beta1::AllocateRequest& request) {
    if (!withdrawn.empty())
        return base::fail(Errc::Busy, withdrawn);
    v1beta1::AllocateResponse response;
    for (const auto& container : request.container_requests()) {
        GPUHOST_TRY(uuids, uuids_of(resource, container));
        give(resource.strategies, uuids, *response.add_container_responses());
    }
    return response;
}

} // namespace gpuhost::devices
