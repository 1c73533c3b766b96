// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/mig/restore_plan.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using Texts = std::vector<std::string>;

/// An H100 with one instance of three slices, in which are two compute instances, and one of one slice.
class RestorePlanTest : public testing::Test {
  protected:
    RestorePlan plan() { return plan_restore(saved_, present_, possible_); }

    const GpuInstance three_{2, 2, {4, 4}, {{0, 0, 0, {0, 1}, "MIG-0"}, {1, 1, 0, {1, 2}, "MIG-1"}}};
    const GpuInstance one_{7, 0, {0, 1}, {{0, 0, 0, {0, 1}, "MIG-2"}}};
    MigGpu saved_{"GPU-1", "0000:06:00.0", true, {three_, one_}, ""};
    MigGpu present_{"GPU-1", "0000:06:00.0", false, {}, ""};
    PossiblePlacements possible_{{0, {{0, 1}, {1, 1}}}, {2, {{0, 4}, {4, 4}}}};
};

TEST_F(RestorePlanTest, AllIsCreatedInOrderOfIds) {
    EXPECT_EQ(plan().creations, (std::vector<Creation>{{three_, false}, {one_, false}}));
    EXPECT_EQ(plan().kept, 0U);
    EXPECT_EQ(plan().problems, Texts{});
}

TEST_F(RestorePlanTest, InstancesInPlaceStay) {
    present_.split = true;
    present_.instances = saved_.instances;
    EXPECT_TRUE(plan().creations.empty());
    EXPECT_EQ(plan().kept, 3U);
    EXPECT_EQ(differences(saved_, present_), Texts{});
}

TEST_F(RestorePlanTest, MissingComputeInstancesAreCreatedInside) {
    present_.instances = {three_};
    present_.instances[0].compute_instances.pop_back();
    ASSERT_EQ(plan().creations.size(), 2U);
    const Creation inside = plan().creations[0];
    EXPECT_TRUE(inside.exists);
    ASSERT_EQ(inside.gpu_instance.compute_instances.size(), 1U);
    EXPECT_EQ(inside.gpu_instance.compute_instances[0].uuid, "MIG-1");
    EXPECT_EQ(plan().kept, 1U);
}

TEST_F(RestorePlanTest, OtherInstancesPreventAll) {
    present_.instances = {{8, 0, {1, 1}, {}}};
    EXPECT_TRUE(plan().creations.empty());
    EXPECT_EQ(plan().problems, Texts{"GPU instance 8 exists, and did not before"});
    present_.instances = {three_};
    present_.instances[0].compute_instances = {{0, 2, 0, {0, 3}, "MIG-9"}};
    EXPECT_EQ(plan().problems, Texts{"compute instance 0 of GPU instance 2 exists, and did not before"});
}

TEST_F(RestorePlanTest, MissingProfileOrPlacementPreventsAll) {
    possible_.erase(2);
    possible_[0] = {{1, 1}};
    EXPECT_TRUE(plan().creations.empty());
    EXPECT_EQ(plan().problems, (Texts{"GPU instance 2: the driver does not have its profile",
                                      "GPU instance 7: the driver does not permit its placement 0:1"}));
}

TEST_F(RestorePlanTest, WholeGpuNeedsNothing) {
    saved_.split = false;
    present_.split = true;
    present_.instances = {one_};
    EXPECT_TRUE(plan().creations.empty());
    EXPECT_EQ(plan().problems, Texts{});
}

TEST_F(RestorePlanTest, UnreadableGpuIsAProblem) {
    present_.problem = "no answer";
    possible_.clear();
    EXPECT_EQ(plan().problems, Texts{"no answer"});
    EXPECT_EQ(differences(saved_, present_), Texts{"no answer"});
}

TEST_F(RestorePlanTest, OtherUuidsAreDifferences) {
    present_.instances = saved_.instances;
    present_.instances[0].compute_instances[1].uuid = "MIG-5";
    present_.instances.pop_back();
    const Texts gone{"GPU instance 7 is missing", "compute instance 0 of GPU instance 7 is missing"};
    EXPECT_EQ(missing(saved_, present_), gone);
    EXPECT_EQ(
        differences(saved_, present_),
        (Texts{gone[0], gone[1], "compute instance 1 of GPU instance 2 had the UUID MIG-1, and has MIG-5"}));
}

TEST_F(RestorePlanTest, GapsOfIdsAreObstacles) {
    EXPECT_EQ(obstacles(saved_), Texts{});
    saved_.instances[0].compute_instances.erase(saved_.instances[0].compute_instances.begin());
    ASSERT_EQ(obstacles(saved_).size(), 1U);
    EXPECT_NE(obstacles(saved_)[0].find("compute instance 1 of GPU instance 2 would get another id"),
              std::string::npos);
    saved_.split = false;
    EXPECT_EQ(obstacles(saved_), Texts{});
}

TEST_F(RestorePlanTest, UnknownUuidIsAnObstacle) {
    saved_.instances[1].compute_instances[0].uuid.clear();
    EXPECT_EQ(obstacles(saved_), Texts{"the UUID of compute instance 0 of GPU instance 7 is unknown"});
}

} // namespace
} // namespace gpuhost::devices
