// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/devices/mig/geometry.hpp"
#include "daemon/devices/mig/restored.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using base::Json;

Json compute_instance(unsigned id) {
    return {{"id", id},    {"profile", 0}, {"engine_profile", 0},
            {"start", id}, {"size", 1},    {"uuid", "MIG-" + std::to_string(id)}};
}

Json gpu_instance(unsigned id) {
    return {{"id", id}, {"profile", 0}, {"start", id}, {"size", 1}, {"compute_instances", Json::array()}};
}

Json gpu(const std::string& uuid) {
    return {{"uuid", uuid},
            {"address", "0000:06:00.0"},
            {"split", true},
            {"instances", Json::array()},
            {"problem", ""}};
}

/// Two GPUs; the first one has two GPU instances.
class GeometryTest : public testing::Test {
  protected:
    GeometryTest() {
        Json outer = gpu_instance(2);
        outer["compute_instances"] = {compute_instance(1), compute_instance(0)};
        value_["gpus"] = {gpu("GPU-1"), gpu("GPU-2")};
        value_["gpus"][0]["instances"] = {outer, gpu_instance(1)};
    }

    [[nodiscard]] std::string failure() const {
        const auto read = geometry_from_json(value_);
        return read ? "" : read.error().message;
    }

    Json value_;
};

TEST_F(GeometryTest, InstancesAreSortedByTheirIds) {
    const auto read = geometry_from_json(value_);
    ASSERT_TRUE(read) << read.error().message;
    const auto& instances = read->front().instances;
    ASSERT_EQ(instances.size(), 2U);
    EXPECT_EQ(instances[0].id, 1U);
    EXPECT_EQ(instances[1].compute_instances[1].uuid, "MIG-1");
    EXPECT_EQ(count_devices(read->front()), 2U);
    EXPECT_EQ(count_split(*read), 2U);
    EXPECT_EQ(geometry_from_json(to_json(*read)), *read) << "reads what it writes";
}

TEST_F(GeometryTest, WrongValuesAreRefused) {
    const Json good = value_;
    const auto refused = [&](const char* path, const Json& wrong, const std::string& says) {
        value_ = good;
        value_[Json::json_pointer(path)] = wrong;
        EXPECT_NE(failure().find(says), std::string::npos) << path << ": " << failure();
    };
    refused("/gpus", nullptr, "'gpus' is not a valid list");
    refused("/gpus/0/uuid", "GPU-", "an invalid UUID");
    refused("/gpus/0/uuid", "GPU-../x", "an invalid UUID");
    refused("/gpus/0/uuid", "GPU-2", "a UUID occurs twice");
    refused("/gpus/0/address", "0000:06:00.0\n", "an invalid UUID, address");
    refused("/gpus/0/problem", std::string(2000, 'x'), "an invalid UUID, address or problem");
    refused("/gpus/0/instances", 7, "'instances' is not a valid list");
    refused("/gpus/0/instances/0/id", -1, "'id' is not a valid number");
    refused("/gpus/0/instances/0/id", 65536, "'id' is not a valid number");
    refused("/gpus/0/instances/0/id", 1, "the id 1 occurs twice");
    refused("/gpus/0/instances/0/start", 1, "two instances are at one place");
    refused("/gpus/0/instances/0/compute_instances/0/start", 0, "two instances are at one place");
    refused("/gpus/0/instances/0/size", "4", "size");
    refused("/gpus/0/instances/0/compute_instances/0/id", 0, "the id 0 occurs twice");
    refused("/gpus/0/instances/0/compute_instances/0/uuid", "MIG-0", "a UUID occurs twice");
    refused("/gpus/0/instances/0/compute_instances/0/uuid", "GPU-0", "a MIG device has an invalid UUID");
}

TEST_F(GeometryTest, GpuWithoutUuidHasAProblem) {
    for (const char* member : {"uuid", "address"})
        for (Json& gpu : value_["gpus"])
            gpu[member] = "";
    EXPECT_NE(failure(), "");
    value_["gpus"][0]["problem"] = value_["gpus"][1]["problem"] = "GPU is lost";
    const auto read = geometry_from_json(value_);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(geometry_from_json(to_json(*read)), *read) << "reads what it writes";
    EXPECT_EQ(name_of(read->front()), "a GPU");
}

TEST_F(GeometryTest, ListsHaveLimits) {
    Json& instances = value_["gpus"][0]["instances"];
    instances = Json::array();
    for (unsigned id = 0; id < 32; ++id)
        instances.push_back(gpu_instance(id));
    EXPECT_EQ(failure(), "");
    instances.push_back(gpu_instance(32));
    EXPECT_NE(failure(), "");
    value_["gpus"] = Json::array();
    for (unsigned number = 0; number < 257; ++number)
        value_["gpus"].push_back(gpu("GPU-" + std::to_string(number)));
    EXPECT_NE(failure(), "");
}

TEST(Restored, ReadsWhatItWrites) {
    const std::vector<RestoredGpu> gpus{{"GPU-1", "0000:06:00.0", true, 3, 4, {"a problem"}, {"a command"}}};
    EXPECT_EQ(restored_from_json(to_json(gpus)), gpus);
    Json wrong = to_json(gpus);
    wrong["gpus"][0]["created"] = -1;
    EXPECT_FALSE(restored_from_json(wrong));
    EXPECT_FALSE(restored_from_json(Json::object()));
    wrong = to_json(gpus);
    wrong["gpus"][0]["problems"] = {std::string(5000, 'x')};
    EXPECT_EQ(restored_from_json(wrong)->front().problems.front().size(), 1000U) << "a text is cut";
}

} // namespace
} // namespace gpuhost::devices
