// SPDX-License-Identifier: Apache-2.0
// The devices that the kubelet has given to pods, from its service v1.PodResourcesLister.
#pragma once

#include "daemon/base/result.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::rpc {

/// The kubelet's socket, below its root directory. Only root may connect.
inline constexpr std::string_view pod_resources_socket = "/pod-resources/kubelet.sock";

struct PodDevice {
    std::string space; ///< namespace of the pod
    std::string pod;
    std::string container;
    std::string device; ///< without the "::N" of a shared device
    friend bool operator==(const PodDevice&, const PodDevice&) = default;
};

/// Returns the devices of all resources of device plugins. Waits for `deadline` at most.
[[nodiscard]] base::Result<std::vector<PodDevice>> list_pod_devices(const std::string& socket,
                                                                    std::chrono::milliseconds deadline);

/// Parses a v1.ListPodResourcesResponse.
[[nodiscard]] base::Result<std::vector<PodDevice>> parse_pod_devices(std::string_view bytes);

} // namespace gpuhost::rpc
