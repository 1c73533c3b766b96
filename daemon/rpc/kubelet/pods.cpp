// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/kubelet/pods.hpp"

#include "daemon/rpc/client.hpp"
#include "daemon/rpc/kubelet/codec.hpp"

#include <kubelet/podresources.pb.h>

namespace gpuhost::rpc {

using base::Result;

Result<std::vector<PodDevice>> parse_pod_devices(std::string_view bytes) {
    GPUHOST_TRY(list, parse<v1::ListPodResourcesResponse>(bytes));
    std::vector<PodDevice> found;
    for (const auto& pod : list.pod_resources())
        for (const auto& container : pod.containers())
            for (const auto& devices : container.devices())
                for (const auto& id : devices.device_ids())
                    found.push_back(
                        {pod.namespace_(), pod.name(), container.name(), id.substr(0, id.find("::"))});
    return found;
}

Result<std::vector<PodDevice>> list_pod_devices(const std::string& socket,
                                                std::chrono::milliseconds deadline) {
    UnaryRequest request{"/v1.PodResourcesLister/List", bytes_of(v1::ListPodResourcesRequest()), deadline};
    GPUHOST_TRY(call, UnaryCall::start(socket, std::move(request)));
    GPUHOST_TRY(bytes, call.wait());
    return parse_pod_devices(bytes);
}

} // namespace gpuhost::rpc
