// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/kubelet/codec.hpp"
#include "daemon/rpc/kubelet/pods.hpp"

#include <gtest/gtest.h>
#include <kubelet/podresources.pb.h>

namespace gpuhost::rpc {
namespace {

TEST(Pods, EachDeviceOfEachContainerIsListed) {
    v1::ListPodResourcesResponse response;
    auto* pod = response.add_pod_resources();
    pod->set_namespace_("research");
    pod->set_name("trainer-0");
    pod->add_containers()->set_name("sidecar");
    auto* container = pod->add_containers();
    container->set_name("train");
    auto* devices = container->add_devices();
    devices->set_resource_name("nvidia.com/gpu");
    devices->add_device_ids("GPU-1");
    devices->add_device_ids("GPU-2::3");
    const auto found = parse_pod_devices(bytes_of(response));
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, (std::vector<PodDevice>{{"research", "trainer-0", "train", "GPU-1"},
                                              {"research", "trainer-0", "train", "GPU-2"}}));
    EXPECT_TRUE(parse_pod_devices("")->empty());
    EXPECT_FALSE(parse_pod_devices("\xff"));
}

TEST(Pods, MissingKubeletIsAnError) {
    EXPECT_FALSE(list_pod_devices("/nonexistent/kubelet.sock", std::chrono::seconds(2)));
}

} // namespace
} // namespace gpuhost::rpc
