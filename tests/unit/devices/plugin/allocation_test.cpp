// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/plugin/allocation.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <kubelet/deviceplugin.pb.h>

namespace gpuhost::devices {
namespace {

using base::Errc;
using Texts = std::vector<std::string>;
using Map = std::map<std::string, std::string>;

const std::string one = "GPU-00000000-0000-0000-0000-000000000001";
const std::string two = "GPU-00000000-0000-0000-0000-000000000002";
const std::string part = "MIG-00000000-0000-0000-0000-0000000000a0";

Resource resource(const Texts& ids, ListStrategies strategies) {
    Resource made;
    made.name = "nvidia.com/gpu";
    for (const std::string& id : ids)
        made.devices.push_back({id, std::string(device_of(id)), 0});
    made.strategies = std::move(strategies);
    return made;
}

/// The answer for one container, as values.
struct Given {
    Texts devices;
    Map annotations;
    Map variables;
    Map mounts; ///< path in the container to that of the host
    friend bool operator==(const Given&, const Given&) = default;
};

v1beta1::AllocateRequest request(const Texts& ids) {
    v1beta1::AllocateRequest made;
    auto* container = made.add_container_requests();
    for (const std::string& id : ids)
        container->add_devices_ids(id);
    return made;
}

/// Allocates all devices of a resource in one container.
Given give(const Texts& ids, ListStrategies strategies) {
    const auto answer = allocate(resource(ids, std::move(strategies)), "", request(ids));
    EXPECT_TRUE(answer);
    const auto& container = answer->container_responses(0);
    EXPECT_EQ(container.devices_size(), 0);
    Given given;
    for (const auto& device : container.cdi_devices())
        given.devices.push_back(device.name());
    given.annotations.insert(container.annotations().begin(), container.annotations().end());
    given.variables.insert(container.envs().begin(), container.envs().end());
    for (const auto& mount : container.mounts())
        given.mounts[mount.container_path()] = mount.host_path();
    return given;
}

const Texts names{"nvidia.com/gpu=" + one, "nvidia.com/gpu=" + two};
const Map annotation{{"cdi.k8s.io/gpu_" + one, names[0] + "," + names[1]}};
const Map variable{{"NVIDIA_VISIBLE_DEVICES", one + "," + two}};
const std::string directory = "/var/run/nvidia-container-devices";
const Map for_mounts{{"NVIDIA_VISIBLE_DEVICES", directory}};
const Map mounts{{directory + "/" + one, "/dev/null"}, {directory + "/" + two, "/dev/null"}};

TEST(Allocation, EachStrategyGivesTheDevices) {
    EXPECT_EQ(give({one, two}, {ListStrategy::cdi_cri}), (Given{names, {}, {}, {}}));
    EXPECT_EQ(give({one, two}, {ListStrategy::cdi_annotations}), (Given{{}, annotation, {}, {}}));
    EXPECT_EQ(give({one, two}, {ListStrategy::envvar}), (Given{{}, {}, variable, {}}));
    EXPECT_EQ(give({one, two}, {ListStrategy::volume_mounts}), (Given{{}, {}, for_mounts, mounts}));
}

TEST(Allocation, StrategiesAreCombined) {
    EXPECT_EQ(give({one, two}, {ListStrategy::cdi_cri, ListStrategy::cdi_annotations}),
              (Given{names, annotation, {}, {}}));
    EXPECT_EQ(give({one, two}, {ListStrategy::cdi_cri, ListStrategy::envvar}),
              (Given{names, {}, variable, {}}));
    EXPECT_EQ(give({one, two}, {ListStrategy::envvar, ListStrategy::volume_mounts}),
              (Given{{}, {}, for_mounts, mounts}))
        << "as in NVIDIA's device plugin, the variable is that of the mounts";
    EXPECT_EQ(give({one, two}, {ListStrategy::cdi_cri, ListStrategy::cdi_annotations, ListStrategy::envvar,
                                ListStrategy::volume_mounts}),
              (Given{names, annotation, for_mounts, mounts}));
}

TEST(Allocation, ReplicasAreOneDevice) {
    const Texts replicas{one + "::0", two + "::1", one + "::1"};
    EXPECT_EQ(give(replicas, {ListStrategy::cdi_cri, ListStrategy::cdi_annotations, ListStrategy::envvar}),
              (Given{names, annotation, variable, {}}));
    EXPECT_EQ(give(replicas, {ListStrategy::volume_mounts}), (Given{{}, {}, for_mounts, mounts}));
}

TEST(Allocation, MigInstanceHasItsOwnUuid) {
    EXPECT_EQ(give({part}, {ListStrategy::envvar}), (Given{{}, {}, {{"NVIDIA_VISIBLE_DEVICES", part}}, {}}));
    EXPECT_EQ(give({part}, {ListStrategy::cdi_annotations}),
              (Given{{}, {{"cdi.k8s.io/gpu_" + part, "nvidia.com/gpu=" + part}}, {}, {}}));
}

/// The rules of the function AnnotationKey of CDI.
TEST(Allocation, LongestAnnotationKeyIsValid) {
    const std::string longest = "GPU-" + std::string(54, 'a');
    const auto given = give({longest}, {ListStrategy::cdi_annotations});
    const std::string key = given.annotations.begin()->first;
    const std::string prefix = "cdi.k8s.io/";
    ASSERT_EQ(key.rfind(prefix, 0), 0U);
    const std::string name = key.substr(prefix.size());
    EXPECT_LE(name.size(), 63U);
    EXPECT_TRUE(std::isalnum(name.front()) && std::isalnum(name.back()));
    EXPECT_TRUE(std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || std::string("_-.").find(static_cast<char>(c)) != std::string::npos;
    })) << name;
}

TEST(Allocation, IndexReplacesTheUuid) {
    Resource offered = resource({one + "::0", one + "::1", part}, {});
    offered.devices[0].index = offered.devices[1].index = "0";
    offered.devices[2].index = "1:3";
    offered.ids = IdStrategy::index;
    offered.strategies = {ListStrategy::cdi_cri, ListStrategy::cdi_annotations, ListStrategy::envvar};
    const auto answer = allocate(offered, "", request({one + "::1", one + "::0", part}));
    const auto& given = answer->container_responses(0);
    EXPECT_EQ(given.envs().at("NVIDIA_VISIBLE_DEVICES"), "0,1:3");
    EXPECT_EQ(given.cdi_devices(1).name(), "nvidia.com/gpu=1:3");
    EXPECT_EQ(given.annotations().at("cdi.k8s.io/gpu_" + one), "nvidia.com/gpu=0,nvidia.com/gpu=1:3");
    offered.strategies = {ListStrategy::volume_mounts};
    EXPECT_EQ(allocate(offered, "", request({part}))->container_responses(0).mounts(0).container_path(),
              "/var/run/nvidia-container-devices/1:3");
}

TEST(Allocation, NodesAreGivenOnceWithoutCdi) {
    Resource offered = resource({one, part, two}, {ListStrategy::envvar});
    offered.nodes = Texts{"/dev/nvidiactl", "/dev/nvidia-uvm"};
    offered.devices[0].nodes = {"/dev/nvidia0"};
    offered.devices[1].nodes = {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap1"};
    offered.devices[2].nodes = {"/dev/nvidia1"};
    const auto nodes = [&](const Texts& ids) {
        const auto answer = allocate(offered, "", request(ids));
        Texts paths;
        for (const auto& device : answer->container_responses(0).devices()) {
            EXPECT_EQ(device.container_path(), device.host_path());
            EXPECT_EQ(device.permissions(), "rw");
            paths.push_back(device.host_path());
        }
        return paths;
    };
    EXPECT_EQ(nodes({part, one}),
              (Texts{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap1"}));
    EXPECT_EQ(nodes({two}), (Texts{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"}));
    offered.strategies = {ListStrategy::cdi_cri, ListStrategy::cdi_annotations};
    EXPECT_EQ(nodes({two}), Texts()) << "as in NVIDIA's device plugin: CDI gives the nodes";
    offered.strategies.insert(ListStrategy::volume_mounts);
    EXPECT_EQ(nodes({two}).size(), 3U);
}

TEST(Allocation, EachContainerHasItsAnswer) {
    v1beta1::AllocateRequest both = request({one});
    both.add_container_requests()->add_devices_ids(two);
    const auto answer = allocate(resource({one, two}, {ListStrategy::envvar}), "", both);
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->container_responses_size(), 2);
    EXPECT_EQ(answer->container_responses(1).envs().at("NVIDIA_VISIBLE_DEVICES"), two);
}

TEST(Allocation, RefusalHasAReason) {
    Resource offered = resource({one, two}, {ListStrategy::envvar});
    offered.devices[1].unhealthy = "Xid 79";
    EXPECT_EQ(allocate(offered, "a swap", request({one})).error().message, "a swap");
    EXPECT_EQ(allocate(offered, "", request({two})).error().code, Errc::Busy);
    EXPECT_EQ(allocate(offered, "", request({part})).error().code, Errc::NotFound);
    offered.one_each = true;
    EXPECT_EQ(allocate(offered, "", request({one, two})).error().code, Errc::InvalidArgument);
}

} // namespace
} // namespace gpuhost::devices
