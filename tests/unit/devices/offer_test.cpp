// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/devices/offer.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using base::Errc;
using base::Json;

Offer example() {
    Gpu split;
    split.uuid = "GPU-1";
    split.address = "0000:06:00.0";
    split.minor = 1;
    split.numa = 1;
    split.model = "NVIDIA H100 80GB HBM3";
    split.memory_mib = 81559;
    split.compute_capability = "9.0";
    split.split = true;
    split.nvlinks = {{"GPU-2", 2}, {"GPU-3", 16}};
    split.memory_pending = true;
    split.memory_failed = true;
    split.instances = {{"MIG-1", "1g.10gb", 0, 7, 0}, {"MIG-2", "", 3, 8, 0}};
    Gpu unknown;
    unknown.uuid = "GPU-2";
    unknown.address = "0000:07:00.0";
    unknown.problem = "nvmlDeviceGetName: Unknown Error";
    Offer made{"1", "nvidia.com/gpu", MigStrategy::mixed, "the driver is being replaced", {split, unknown}};
    made.sharing = {{{"nvidia.com/gpu", 4}}, true, true, true};
    made.strategies = {ListStrategy::envvar, ListStrategy::cdi_annotations};
    made.ids = IdStrategy::index;
    made.nodes = {{"/dev/nvidiactl"}};
    made.gpus[0].index = 1;
    made.gpus[0].instances[0].nodes = {"/dev/nvidia-caps/nvidia-cap3", "/dev/nvidia-caps/nvidia-cap4"};
    return made;
}

/// Parses the example with one change: `path` is a JSON pointer.
base::Result<Offer> changed(const char* path, const Json& value) {
    Json document = Json::parse(to_text(example()));
    document[Json::json_pointer(path)] = value;
    return parse_offer(document.dump());
}

TEST(Offer, TextHasAllValues) {
    const auto parsed = parse_offer(to_text(example()));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, example());
}

TEST(Offer, OtherVersionIsUnsupported) {
    const auto parsed = changed("/version", 2);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Errc::Unsupported);
    EXPECT_NE(parsed.error().hint, "");
}

TEST(Offer, RefusesInvalidValues) {
    for (const auto& [path, value] : std::initializer_list<std::pair<const char*, Json>>{
             {"/id", 1},
             {"/resource", nullptr},
             {"/mig_strategy", "all"},
             {"/gpus", nullptr},
             {"/gpus/0/uuid", "MIG-1"},
             {"/gpus/0/uuid", "GPU-"},
             {"/gpus/0/uuid", "GPU-a/b"},
             {"/gpus/0/uuid", "GPU-a-"},
             {"/gpus/0/uuid", "GPU-" + std::string(60, 'a')},
             {"/device_list_strategy", Json::array()},
             {"/device_id_strategy", "pci"},
             {"/device_nodes", "/dev/nvidia0"},
             {"/device_nodes/0", "/dev/sda"},
             {"/device_nodes/0", "/dev/nvidia../sda"},
             {"/device_nodes", Json(17, "/dev/nvidia0")},
             {"/gpus/0/instances/0/nodes/0", 1},
             {"/device_list_strategy", "envvar"},
             {"/device_list_strategy/0", "env"},
             {"/device_list_strategy/0", 1},
             {"/sharing/resources/0/name", 1},
             {"/sharing/resources/0/replicas", 1},
             {"/sharing/resources/0/replicas", 257},
             {"/sharing/resources/1", {{"name", "nvidia.com/gpu"}, {"replicas", 2}}},
             {"/gpus/0/address", 6},
             {"/gpus/0/minor", -1},
             {"/gpus/0/minor", 65536},
             {"/gpus/0/numa", "0"},
             {"/gpus/0/nvlinks/0/gpu", "MIG-1"},
             {"/gpus/0/nvlinks/0/count", 0},
             {"/gpus/0/nvlinks/0/count", 49},
             {"/gpus/0/nvlinks/2", {{"gpu", "GPU-4"}}},
             {"/gpus/0/instances/0/uuid", "GPU-3"},
             {"/gpus/0/instances/0/index", -1},
             {"/gpus/0/instances/0/gpu_instance", "7"}}) {
        const auto parsed = changed(path, value);
        ASSERT_FALSE(parsed) << path << ": " << value;
        EXPECT_EQ(parsed.error().code, Errc::BadContent) << path;
    }
}

TEST(Offer, NvlinksMayBeAbsent) {
    const auto parsed = changed("/gpus/0/nvlinks", nullptr);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_TRUE(parsed->gpus[0].nvlinks.empty());
}

TEST(Offer, OfferOfAnOlderVersionNamesCdiDevices) {
    const auto parsed = changed("/device_list_strategy", nullptr);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->strategies, ListStrategies{ListStrategy::cdi_cri});
}

TEST(Offer, RefusesAUuidTwice) {
    EXPECT_FALSE(changed("/gpus/1/uuid", "GPU-1"));
    EXPECT_FALSE(changed("/gpus/0/instances/1/uuid", "MIG-1"));
}

TEST(Offer, RefusesWhatIsNoJsonObject) {
    for (const char* text : {"", "[]", "1", "{\"version\": 1"})
        EXPECT_FALSE(parse_offer(text)) << text;
}

TEST(Offer, AnswerHasAllValues) {
    const Answer answer{
        "7",
        {{"nvidia.com/gpu", 2, true, ""}, {"nvidia.com/mig-1g.10gb", 0, false, "refused"}},
        {{"GPU-1", HealthState::unhealthy, Recovery::reboot, "Xid 79: GPU has fallen off the bus", 79, 17},
         {"GPU-2", HealthState::noted, Recovery::none, "Xid 13", 13, 18}}};
    const auto parsed = parse_answer(to_text(answer));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, answer);
    EXPECT_FALSE(parse_answer("{}"));
}

TEST(Offer, AnswerOfAnOlderVersionHasNoHealth) {
    const auto parsed = parse_answer(R"({"id": "7", "resources": []})");
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed->health.empty());
}

TEST(Offer, AnswerRefusesUnknownWordsOfHealth) {
    for (const char* text : {R"({"uuid": "GPU-1", "state": "ill", "recovery": "none"})",
                             R"({"uuid": "GPU-1", "state": "noted", "recovery": 1})",
                             R"({"state": "noted", "recovery": "none"})", "1"})
        EXPECT_FALSE(parse_answer(std::string(R"({"id": "7", "health": [)") + text + "]}")) << text;
}

TEST(Offer, StrategiesHaveNames) {
    for (const MigStrategy strategy : {MigStrategy::none, MigStrategy::single, MigStrategy::mixed})
        EXPECT_EQ(mig_strategy(name_of(strategy)), strategy);
    EXPECT_EQ(mig_strategy("None"), std::nullopt);
}

} // namespace
} // namespace gpuhost::devices
