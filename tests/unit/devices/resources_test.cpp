// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/prefer.hpp"
#include "daemon/devices/resources.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using Ids = std::vector<std::string>;

Gpu gpu(const std::string& number, std::optional<unsigned> numa = {}) {
    Gpu gpu;
    gpu.uuid = "GPU-" + number;
    gpu.numa = numa;
    return gpu;
}

Gpu split(const std::string& number, const Ids& profiles) {
    Gpu made = gpu(number);
    made.split = true;
    for (const std::string& profile : profiles)
        made.instances.push_back({"MIG-" + number + std::to_string(made.instances.size()), profile, 0, 0, 0});
    return made;
}

std::vector<Resource> resources(MigStrategy mig, std::vector<Gpu> gpus) {
    return resources_of({"", "nvidia.com/gpu", mig, "", std::move(gpus)});
}

Ids ids(const Resource& resource) {
    Ids list;
    for (const ResourceDevice& device : resource.devices)
        list.push_back(device.id);
    return list;
}

TEST(Resources, WholeGpusAreOneResourceInAnyStrategy) {
    for (const MigStrategy mig : {MigStrategy::none, MigStrategy::single, MigStrategy::mixed}) {
        const auto list = resources(mig, {gpu("1", 0), gpu("2", 1)});
        ASSERT_EQ(list.size(), 1U);
        EXPECT_EQ(list[0].name, "nvidia.com/gpu");
        EXPECT_EQ(list[0].devices,
                  (std::vector<ResourceDevice>{{"GPU-1", "GPU-1", 0, "", {}, "0", {"/dev/nvidia0"}},
                                               {"GPU-2", "GPU-2", 1, "", {}, "0", {"/dev/nvidia0"}}}));
        EXPECT_EQ(list[0].problem, "");
    }
}

TEST(Resources, InstancesHaveTheNodesOfTheirGpu) {
    Gpu made = split("1", {"1g.10gb", "1g.10gb"});
    made.index = 2;
    made.minor = 5;
    made.instances[1].index = 3;
    made.instances[1].nodes = {"/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap2"};
    Offer offer{"", "nvidia.com/gpu", MigStrategy::single, "", {made}};
    EXPECT_EQ(resources_of(offer).at(0).devices.size(), 2U) << "no container gets nodes";
    offer.nodes.emplace();
    const Resource resource = resources_of(offer).at(0);
    EXPECT_EQ(ids(resource), Ids{"MIG-11"});
    EXPECT_EQ(resource.problem, "the device nodes of MIG instance MIG-10 are unknown");
    EXPECT_EQ(resource.devices[0].index, "2:3");
    EXPECT_EQ(resource.devices[0].nodes,
              (Ids{"/dev/nvidia5", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap2"}));
}

TEST(Resources, HostWithoutGpusOffersNone) {
    const auto list = resources(MigStrategy::mixed, {});
    ASSERT_EQ(list.size(), 1U);
    EXPECT_TRUE(list[0].devices.empty());
}

TEST(Resources, NoneLeavesSplitGpusOut) {
    const auto list = resources(MigStrategy::none, {gpu("1"), split("2", {"1g.10gb"})});
    EXPECT_EQ(ids(list[0]), Ids{"GPU-1"});
    EXPECT_NE(list[0].problem.find("GPU-2"), std::string::npos);
}

TEST(Resources, SingleOffersInstancesAsGpus) {
    const auto list =
        resources(MigStrategy::single, {split("1", {"1g.10gb", "1g.10gb"}), split("2", {"1g.10gb"})});
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(ids(list[0]), (Ids{"MIG-10", "MIG-11", "MIG-20"}));
    EXPECT_EQ(list[0].devices[2].gpu, "GPU-2");
}

TEST(Resources, SingleRefusesDifferentProfiles) {
    const auto profiles = resources(MigStrategy::single, {split("1", {"1g.10gb", "2g.20gb"})});
    EXPECT_TRUE(profiles[0].devices.empty());
    EXPECT_NE(profiles[0].problem, "");
    const auto some = resources(MigStrategy::single, {split("1", {"1g.10gb"}), gpu("2")});
    EXPECT_TRUE(some[0].devices.empty());
    EXPECT_NE(some[0].problem, "");
}

TEST(Resources, MixedHasAResourceForEachProfile) {
    const auto list = resources(MigStrategy::mixed, {gpu("1"), split("2", {"1g.10gb", "1g.10gb+me", ""})});
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(list[0].name, "nvidia.com/gpu");
    EXPECT_EQ(ids(list[0]), Ids{"GPU-1"});
    EXPECT_NE(list[0].problem.find("MIG-22"), std::string::npos);
    EXPECT_EQ(list[1].name, "nvidia.com/mig-1g.10gb");
    EXPECT_EQ(ids(list[1]), Ids{"MIG-20"});
    EXPECT_EQ(list[2].name, "nvidia.com/mig-1g.10gb.me");
}

Resource nodes(const std::vector<unsigned>& numa) {
    Resource resource{"nvidia.com/gpu", {}, ""};
    for (std::size_t i = 0; i < numa.size(); ++i)
        resource.devices.push_back({std::to_string(i), std::to_string(i), numa[i]});
    return resource;
}

TEST(Prefer, TakesOneNumaNode) {
    EXPECT_EQ(prefer(nodes({0, 1, 0, 1}), {"0", "1", "2", "3"}, {}, 2), (Ids{"0", "2"}));
    EXPECT_EQ(prefer(nodes({0, 1, 0, 1}), {"0", "1", "3"}, {}, 2), (Ids{"1", "3"}));
}

TEST(Prefer, TakesTheSmallestNodeThatIsEnough) {
    EXPECT_EQ(prefer(nodes({0, 0, 0, 1}), {"0", "1", "2", "3"}, {}, 1), Ids{"3"});
    EXPECT_EQ(prefer(nodes({0, 0, 0, 1, 1}), {"0", "1", "2", "3", "4"}, {}, 2), (Ids{"3", "4"}));
}

TEST(Prefer, TakesTheLargestNodeIfNoneIsEnough) {
    EXPECT_EQ(prefer(nodes({0, 1, 1}), {"0", "1", "2"}, {}, 3), (Ids{"1", "2", "0"}));
}

TEST(Prefer, RequiredDevicesDecideTheNode) {
    EXPECT_EQ(prefer(nodes({0, 0, 1, 1}), {"0", "1", "2", "3"}, {"2"}, 2), (Ids{"2", "3"}));
}

TEST(Prefer, GivesFewerIfThereAreNotEnough) {
    EXPECT_EQ(prefer(nodes({0, 0}), {"0", "9"}, {"8"}, 3), Ids{"0"});
    EXPECT_TRUE(prefer(nodes({0}), {"0"}, {"0"}, 0).empty());
}

TEST(Prefer, TakesInstancesOfAUsedGpu) {
    Resource resource{
        "nvidia.com/mig-1g.10gb", {{"a0", "a", 0}, {"a1", "a", 0}, {"b0", "b", 0}, {"b1", "b", 0}}, ""};
    EXPECT_EQ(prefer(resource, {"a0", "a1", "b1"}, {}, 1), Ids{"b1"});
}

/// Returns the resources of two GPUs and a MIG instance.
std::vector<Resource> shared(Sharing sharing) {
    Offer offer{
        "", "nvidia.com/gpu", MigStrategy::mixed, "", {gpu("1", 0), gpu("2", 1), split("3", {"1g.10gb"})}};
    offer.sharing = std::move(sharing);
    return resources_of(offer);
}

TEST(SharedResources, EachDeviceHasReplicas) {
    const auto list = shared({{{"nvidia.com/gpu", 2}}});
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(ids(list[0]), (Ids{"GPU-1::0", "GPU-1::1", "GPU-2::0", "GPU-2::1"}));
    EXPECT_EQ(list[0].devices[3].gpu, "GPU-2");
    EXPECT_EQ(list[0].devices[3].numa, 1U);
    EXPECT_EQ(list[0].replicas, 2U);
    EXPECT_EQ(ids(list[1]), Ids{"MIG-30"}) << "not named in the sharing";
    EXPECT_EQ(device_of("GPU-2::1"), "GPU-2");
    EXPECT_EQ(device_of("GPU-2"), "GPU-2");
}

TEST(SharedResources, RenamedOnesReplaceTheirNames) {
    const auto list = shared({{{"nvidia.com/mig-1g.10gb", 3}, {"nvidia.com/mig-2g.20gb", 2}}, true, true});
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].name, "nvidia.com/gpu");
    EXPECT_EQ(list[0].replicas, 1U);
    EXPECT_FALSE(list[0].one_each);
    EXPECT_EQ(list[1].name, "nvidia.com/mig-1g.10gb.shared");
    EXPECT_EQ(ids(list[1]), (Ids{"MIG-30::0", "MIG-30::1", "MIG-30::2"}));
    EXPECT_TRUE(list[1].one_each);
}

TEST(PreferReplicas, TakesTheDeviceThatTheFewestHave) {
    const Resource resource = shared({{{"nvidia.com/gpu", 3}}})[0];
    EXPECT_EQ(prefer(resource, {"GPU-1::1", "GPU-1::2", "GPU-2::0", "GPU-2::1", "GPU-2::2"}, {}, 1),
              Ids{"GPU-2::0"});
    EXPECT_EQ(prefer(resource, {"GPU-1::0", "GPU-1::1", "GPU-1::2", "GPU-2::2"}, {}, 2),
              (Ids{"GPU-1::0", "GPU-1::1"}));
}

TEST(PreferReplicas, SpreadsOneContainerOverDevices) {
    const Resource resource = shared({{{"nvidia.com/gpu", 2}}})[0];
    const std::set<std::string> all{"GPU-1::0", "GPU-1::1", "GPU-2::0", "GPU-2::1"};
    EXPECT_EQ(prefer(resource, all, {}, 2), (Ids{"GPU-1::0", "GPU-2::0"}));
    EXPECT_EQ(prefer(resource, all, {"GPU-1::1"}, 2), (Ids{"GPU-1::1", "GPU-2::0"}));
    EXPECT_EQ(prefer(resource, all, {}, 9).size(), 4U);
    EXPECT_TRUE(prefer(resource, all, {}, 0).empty());
}

TEST(PreferReplicas, PackedFillsAUsedDevice) {
    const Resource resource = shared({{{"nvidia.com/gpu", 3}}, false, false, true})[0];
    EXPECT_EQ(prefer(resource, {"GPU-1::0", "GPU-1::1", "GPU-1::2", "GPU-2::1", "GPU-2::2"}, {}, 3),
              (Ids{"GPU-2::1", "GPU-2::2", "GPU-1::0"}));
}

} // namespace
} // namespace gpuhost::devices
