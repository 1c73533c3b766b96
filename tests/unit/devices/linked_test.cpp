// SPDX-License-Identifier: Apache-2.0
// The topologies and most answers are those in the tests of NVIDIA's go-gpuallocator, whose policy NVIDIA's
// device plugin uses.
#include "daemon/devices/linked.hpp"
#include "daemon/devices/prefer.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using Ids = std::vector<std::string>;

struct Link {
    std::size_t one;
    std::size_t other;
    unsigned count;
};

/// Returns GPUs with the names "0", "1" and so on, on the given NUMA nodes.
Resource host(const std::vector<unsigned>& numa, const std::vector<Link>& links) {
    Resource resource{"nvidia.com/gpu", {}, ""};
    for (std::size_t i = 0; i < numa.size(); ++i)
        resource.devices.push_back({std::to_string(i), "GPU-" + std::to_string(i), numa[i], "", {}});
    for (const Link& link : links) {
        resource.devices[link.one].nvlinks.push_back({"GPU-" + std::to_string(link.other), link.count});
        resource.devices[link.other].nvlinks.push_back({"GPU-" + std::to_string(link.one), link.count});
    }
    return resource;
}

/// DGX-1 with V100: a hybrid cube mesh.
Resource dgx1() {
    return host({0, 0, 0, 0, 1, 1, 1, 1}, {{0, 1, 1},
                                           {0, 2, 1},
                                           {0, 3, 2},
                                           {0, 4, 2},
                                           {1, 2, 2},
                                           {1, 3, 1},
                                           {1, 5, 2},
                                           {2, 3, 2},
                                           {2, 6, 1},
                                           {3, 7, 1},
                                           {4, 5, 1},
                                           {4, 6, 1},
                                           {4, 7, 2},
                                           {5, 6, 2},
                                           {5, 7, 1},
                                           {6, 7, 2}});
}

/// Four RTX 8000 with a bridge between two each. Each bridge crosses NUMA nodes.
Resource bridged() {
    return host({0, 0, 1, 1}, {{0, 3, 2}, {1, 2, 2}});
}

/// DGX H100: the links of all GPUs lead to switches.
Resource switched() {
    return host({0, 0, 0, 0, 1, 1, 1, 1}, {});
}

std::set<std::string> all(const Resource& resource) {
    std::set<std::string> ids;
    for (const ResourceDevice& device : resource.devices)
        ids.insert(device.id);
    return ids;
}

/// Returns what containers with `count` GPUs get one after the other, until too few are left.
std::vector<Ids> fill(const Resource& resource, std::size_t count) {
    std::vector<Ids> given;
    for (auto left = all(resource); left.size() >= count;) {
        given.push_back(prefer(resource, left, {}, count));
        for (const std::string& id : given.back())
            left.erase(id);
    }
    return given;
}

TEST(Linked, CubeMeshFillsAsNvidiasPluginDoes) {
    EXPECT_EQ(fill(dgx1(), 2), (std::vector<Ids>{{"0", "3"}, {"1", "2"}, {"4", "7"}, {"5", "6"}}));
    EXPECT_EQ(fill(dgx1(), 4), (std::vector<Ids>{{"0", "1", "2", "3"}, {"4", "5", "6", "7"}}));
    EXPECT_EQ(fill(dgx1(), 8), (std::vector<Ids>{{"0", "1", "2", "3", "4", "5", "6", "7"}}));
    EXPECT_EQ(fill(dgx1(), 1).size(), 8U);
}

TEST(Linked, CubeMeshPrefersTwoLinksThenTheNode) {
    EXPECT_EQ(prefer(dgx1(), {"0", "4", "5", "6"}, {}, 2), (Ids{"5", "6"}));
    EXPECT_EQ(prefer(dgx1(), {"0", "1", "3"}, {}, 2), (Ids{"0", "3"}));
    EXPECT_EQ(prefer(dgx1(), {"0", "1", "4"}, {}, 2), (Ids{"0", "4"}));
}

TEST(Linked, RequiredGpusAreInTheSet) {
    const auto ids = all(dgx1());
    EXPECT_EQ(prefer(dgx1(), ids, {"4"}, 1), Ids{"4"});
    EXPECT_EQ(prefer(dgx1(), ids, {"4"}, 2), (Ids{"4", "7"}));
    EXPECT_EQ(prefer(dgx1(), ids, {"4"}, 4), (Ids{"4", "5", "6", "7"}));
    EXPECT_EQ(prefer(dgx1(), ids, {"0", "2", "4", "6"}, 4), (Ids{"0", "2", "4", "6"}));
    EXPECT_EQ(prefer(dgx1(), ids, {"4"}, 8).size(), 8U);
    EXPECT_EQ(prefer(bridged(), all(bridged()), {"3"}, 2), (Ids{"3", "0"}));
    EXPECT_EQ(prefer(bridged(), {"1", "2", "3"}, {"3"}, 2), (Ids{"3", "2"})) << "the partner is in use";
    EXPECT_EQ(prefer(switched(), all(switched()), {"5"}, 4), (Ids{"5", "4", "6", "7"}));
}

TEST(Linked, BridgedPairsStayTogether) {
    EXPECT_EQ(fill(bridged(), 2), (std::vector<Ids>{{"0", "3"}, {"1", "2"}}));
    EXPECT_EQ(fill(bridged(), 4), (std::vector<Ids>{{"0", "1", "2", "3"}}));
    EXPECT_EQ(prefer(bridged(), {"1", "2", "3"}, {}, 2), (Ids{"1", "2"}));
}

TEST(Linked, SingleGpusLeavePairsWhole) {
    EXPECT_EQ(fill(bridged(), 1), (std::vector<Ids>{{"0"}, {"3"}, {"1"}, {"2"}}));
    EXPECT_EQ(prefer(dgx1(), {"1", "2", "3", "4", "7"}, {}, 1), Ids{"4"}) << "it takes the fewest links";
}

TEST(Linked, SwitchedGpusFollowTheNode) {
    EXPECT_EQ(fill(switched(), 1).size(), 8U);
    EXPECT_EQ(fill(switched(), 2), (std::vector<Ids>{{"0", "1"}, {"2", "3"}, {"4", "5"}, {"6", "7"}}));
    EXPECT_EQ(fill(switched(), 4), (std::vector<Ids>{{"0", "1", "2", "3"}, {"4", "5", "6", "7"}}));
    EXPECT_EQ(fill(switched(), 8).size(), 1U);
}

TEST(Linked, EqualLinksFollowTheNode) {
    const Resource mesh =
        host({1, 0, 1, 0}, {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}});
    EXPECT_EQ(fill(mesh, 2), (std::vector<Ids>{{"0", "2"}, {"1", "3"}}));
    EXPECT_EQ(prefer(mesh, {"0", "1", "2"}, {}, 1), Ids{"1"}) << "the pair of node 1 stays";
}

TEST(Linked, LinkThatOneGpuReportsIsIgnored) {
    Resource resource = bridged();
    resource.devices[3].nvlinks.clear();
    EXPECT_EQ(prefer(resource, all(resource), {}, 2), (Ids{"1", "2"}));
}

TEST(Linked, TooManyGpusFollowTheNode) {
    std::vector<unsigned> numa(most_linked + 1, 0);
    numa[0] = 1;
    const Resource large = host(numa, {{0, 1, 2}});
    EXPECT_EQ(prefer(large, all(large), {}, 2), (Ids{"1", "2"}));
    auto fewer = all(large);
    fewer.erase("16");
    EXPECT_EQ(prefer(large, fewer, {}, 2), (Ids{"0", "1"}));
    EXPECT_EQ(prefer(large, fewer, {}, 8).size(), 8U);
}

TEST(Linked, ReplicasIgnoreLinks) {
    Offer offer{"", "nvidia.com/gpu", MigStrategy::none, "", {}};
    for (unsigned i = 0; i < 3; ++i) {
        Gpu gpu;
        gpu.uuid = "GPU-" + std::to_string(i);
        gpu.nvlinks = {{"GPU-" + std::to_string(2 - i), 2}};
        offer.gpus.push_back(gpu);
    }
    const Resource whole = resources_of(offer)[0];
    EXPECT_EQ(prefer(whole, all(whole), {}, 2), (Ids{"GPU-0", "GPU-2"}));
    offer.sharing = {{{"nvidia.com/gpu", 2}}};
    const Resource shared = resources_of(offer)[0];
    EXPECT_EQ(prefer(shared, all(shared), {}, 2), (Ids{"GPU-0::0", "GPU-1::0"}));
}

} // namespace
} // namespace gpuhost::devices
