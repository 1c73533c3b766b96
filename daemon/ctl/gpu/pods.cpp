// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/gpu/pods.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/devices/publish/offer_files.hpp"
#include "daemon/devices/sharing.hpp"
#include "daemon/rpc/kubelet/pods.hpp"

#include <chrono>
#include <optional>
#include <vector>

#include <unistd.h>

namespace gpuhost::ctl {

using base::Json;
using Pods = std::optional<std::vector<rpc::PodDevice>>;

namespace {

constexpr std::chrono::seconds deadline{2};
constexpr std::string_view below_kubelet = "/plugins_registry/gpuhost"; ///< the end of the registry link

Pods read_pods(const base::Root& root) {
    const std::string link = root.read_link(devices::registry_link).value_or("");
    if (!base::ends_with(link, below_kubelet))
        return std::nullopt;
    const std::string socket = root.host_path(link.substr(0, link.size() - below_kubelet.size()) +
                                              std::string(rpc::pod_resources_socket));
    if (::access(socket.c_str(), W_OK) != 0)
        return std::nullopt;
    auto pods = rpc::list_pod_devices(socket, deadline);
    return pods ? Pods(*std::move(pods)) : std::nullopt;
}

void add(Json& device, const Pods& pods) {
    device["pods"] = pods ? Json::array() : Json();
    if (!pods)
        return;
    const std::string uuid = base::string_or(device, "uuid", "");
    for (const rpc::PodDevice& one : *pods)
        if (devices::device_of(one.device) == uuid)
            device["pods"].push_back(
                {{"namespace", one.space}, {"pod", one.pod}, {"container", one.container}});
}

} // namespace

void add_pods(Json& list, const base::Root& root) {
    const Pods pods = list["gpus"].empty() ? std::nullopt : read_pods(root);
    for (Json& gpu : list["gpus"]) {
        add(gpu, pods);
        for (Json& instance : gpu["instances"])
            add(instance, pods);
    }
}

} // namespace gpuhost::ctl
