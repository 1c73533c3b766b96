// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/gpu_labels.hpp"
#include "daemon/devices/labels.hpp"
#include "daemon/programs/gpuhost_cluster/node_devices.hpp"

#include <set>

#include <gtest/gtest.h>

namespace gpuhost {
namespace {

using devices::HealthState;
using devices::LabelMode;
using devices::Recovery;

devices::Gpu gpu(const char* uuid) {
    devices::Gpu made;
    made.uuid = uuid;
    made.model = "NVIDIA H100 80GB HBM3";
    return made;
}

DeviceFacts facts(LabelMode labels = LabelMode::node) {
    DeviceFacts made;
    made.offer.emplace();
    made.offer->gpus = {gpu("GPU-1"), gpu("GPU-2")};
    made.offer->labels = labels;
    made.answer.emplace();
    return made;
}

DeviceFacts unhealthy(Recovery recovery = Recovery::reboot) {
    DeviceFacts made = facts();
    made.answer->health = {{"GPU-1", HealthState::noted, Recovery::none, "Xid 31", 31, 0},
                           {"GPU-2", HealthState::unhealthy, recovery, "Xid 79", 79, 0}};
    made.offer->taint_unhealthy = true;
    return made;
}

TEST(NodeDevices, OfferGivesLabelsAndHealth) {
    const auto made = node_devices(facts(), false);
    ASSERT_TRUE(made && made->labels && made->health);
    EXPECT_EQ(made->labels->at("nvidia.com/gpu.count"), "2");
    EXPECT_EQ(*made->health,
              (cluster::Condition{"gpuhost.io/GPUsHealthy", "True", "Healthy", "all 2 devices are healthy"}));
    EXPECT_EQ(made->tainted, false);
}

TEST(NodeDevices, ReplicasOfAGpuCountOnce) {
    DeviceFacts shared = unhealthy();
    shared.offer->sharing = {{{shared.offer->resource, 4}}};
    EXPECT_EQ(node_devices(shared, true)->health->message,
              "1 of 2 devices is unhealthy: GPU-2: Xid 79 (needs a reboot)");
}

TEST(NodeDevices, UnhealthyDeviceIsNamed) {
    const auto made = node_devices(unhealthy(), true);
    EXPECT_EQ(*made->health,
              (cluster::Condition{"gpuhost.io/GPUsHealthy", "False", "RebootRequired",
                                  "1 of 2 devices is unhealthy: GPU-2: Xid 79 (needs a reboot)"}));
    EXPECT_EQ(made->tainted, true);
    EXPECT_EQ(node_devices(unhealthy(Recovery::reset), true)->health->reason, "ResetRequired");
    EXPECT_EQ(node_devices(unhealthy(Recovery::none), true)->health->reason, "Unhealthy");
    EXPECT_EQ(node_devices(unhealthy(Recovery::replacement), true)->health->reason, "ReplacementRequired");
}

TEST(NodeDevices, FaultOfSplitGpuCountsItsInstances) {
    DeviceFacts split = unhealthy();
    devices::Gpu& first = split.offer->gpus[0];
    first.split = true;
    first.instances = {{"MIG-1", "3g.40gb"}, {"MIG-2", "3g.40gb"}};
    split.offer->gpus.pop_back();
    split.offer->mig = devices::MigStrategy::mixed;
    split.answer->health.clear();
    for (const char* uuid : {"GPU-1", "MIG-1", "MIG-2"})
        split.answer->health.push_back({uuid, HealthState::unhealthy, Recovery::reboot, "Xid 79", 79, 0});
    const std::string text = node_devices(split, true)->health->message;
    EXPECT_EQ(text.rfind("2 of 2 devices are unhealthy: MIG-1: ", 0), 0U) << text;
    split.offer->mig = devices::MigStrategy::none;
    const auto made = node_devices(split, true);
    EXPECT_EQ(made->health->reason, "NoDevices");
    EXPECT_EQ(made->tainted, std::nullopt);
    ASSERT_TRUE(made->labels);
    EXPECT_EQ(made->labels->at("nvidia.com/gpu.replicas"), "0");
}

TEST(NodeDevices, EmptyOfferIsUnknownAndKeepsLabels) {
    DeviceFacts empty = unhealthy();
    empty.offer->gpus.clear();
    const auto made = node_devices(empty, true);
    EXPECT_EQ(made->health->status, "Unknown");
    EXPECT_FALSE(made->labels);
    EXPECT_EQ(made->tainted, std::nullopt);
}

TEST(NodeDevices, TaintFollowsItsSetting) {
    DeviceFacts without = unhealthy();
    without.offer->taint_unhealthy = false;
    EXPECT_EQ(node_devices(without, true)->tainted, false);
}

TEST(OfferGeneration, ObservationBeforeTheOfferWentIsStale) {
    OfferGeneration offers;
    DeviceFacts present = facts();
    present.offer->id = "7";
    EXPECT_FALSE(offers.is_observed());
    offers.see(present);
    offers.begin();
    offers.end();
    EXPECT_TRUE(offers.is_observed());
    offers.see({});
    EXPECT_FALSE(offers.is_observed()) << "the last observation was made with the offer";
    offers.begin();
    offers.see({});
    offers.end();
    EXPECT_TRUE(offers.is_observed());
    offers.begin();
    offers.see(present);
    offers.see({});
    offers.end();
    EXPECT_FALSE(offers.is_observed()) << "an offer came and went meanwhile";
}

TEST(NodeDevices, MissingAnswerIsUnknownAndKeepsTaint) {
    DeviceFacts silent = unhealthy();
    silent.answer.reset();
    const auto made = node_devices(silent, true);
    EXPECT_EQ(made->health->status, "Unknown");
    EXPECT_EQ(made->tainted, std::nullopt);
}

TEST(NodeDevices, UnreadableAnswerIsNamed) {
    DeviceFacts damaged = unhealthy();
    damaged.answer.reset();
    damaged.answer_error = "key 'id': missing";
    EXPECT_EQ(*node_devices(damaged, true)->health,
              (cluster::Condition{"gpuhost.io/GPUsHealthy", "Unknown", "AnswerUnreadable",
                                  "can't read the answer of gpuhost-devices: key 'id': missing"}));
}

TEST(NodeDevices, UndetectedErrorsAreUnknownAndKeepTaint) {
    DeviceFacts blind = facts();
    blind.offer->taint_unhealthy = true;
    blind.answer->blind = "the kernel's messages have ended";
    const auto made = node_devices(blind, true);
    EXPECT_EQ(made->health->status, "Unknown");
    EXPECT_EQ(made->health->reason, "NotMonitored");
    EXPECT_NE(made->health->message.find("the kernel's messages have ended. Restart the service"),
              std::string::npos);
    EXPECT_EQ(made->tainted, std::nullopt);
    blind.answer->blind = "earlier errors may be missing: the file of faults was damaged";
    EXPECT_EQ(node_devices(blind, true)->health->message,
              "earlier errors may be missing: the file of faults was damaged. Check the GPUs: nvidia-smi -q. "
              "Then clear each (gpuhostctl gpu clear GPU), or load the driver again.");
    DeviceFacts both = unhealthy();
    both.answer->blind = blind.answer->blind;
    EXPECT_EQ(node_devices(both, true)->health->status, "False");
    EXPECT_NE(node_devices(both, true)->health->message.find("the others are unknown"), std::string::npos);
}

TEST(NodeDevices, AbsentOfferRemovesAllOnceSettled) {
    EXPECT_FALSE(node_devices({}, false));
    const auto made = node_devices({}, true);
    ASSERT_TRUE(made && made->labels);
    EXPECT_TRUE(made->labels->empty());
    EXPECT_FALSE(made->health);
    EXPECT_EQ(made->tainted, false);
}

TEST(NodeDevices, UnreadableOfferChangesNothing) {
    DeviceFacts broken;
    broken.unreadable = true;
    EXPECT_FALSE(node_devices(broken, true));
}

TEST(NodeDevices, WithdrawnGpusKeepLabels) {
    DeviceFacts withdrawn = facts();
    withdrawn.offer->withdrawn = "the driver is being replaced";
    EXPECT_FALSE(node_devices(withdrawn, true)->labels);
}

TEST(NodeDevices, UnknownModelsKeepLabels) {
    DeviceFacts unknown = facts();
    for (devices::Gpu& one : unknown.offer->gpus)
        one.model.clear();
    EXPECT_FALSE(node_devices(unknown, true)->labels);
}

TEST(NodeDevices, AllLabelsMayBeWritten) {
    devices::Offer offer = *facts().offer;
    offer.host = {"550.163.01", 12040, "x"};
    for (devices::Gpu& one : offer.gpus) {
        one.compute_capability = "9.0";
        one.memory_mib = 81920;
        one.fabric = "11111111-2222-3333-4444-555555555555.7";
    }
    std::set<std::string> seen;
    for (const auto mig :
         {devices::MigStrategy::none, devices::MigStrategy::single, devices::MigStrategy::mixed})
        for (const bool is_split : {false, true}) {
            offer.mig = mig;
            for (devices::Gpu& one : offer.gpus) {
                one.split = is_split;
                one.instances.clear();
                if (is_split)
                    one.instances = {{"", "1g.10gb", 0, 0, 0, {9856, 16, 1, 1, 1, 1, 0, 1, 1}}};
            }
            for (const auto& [name, value] : devices::labels_of(offer)) {
                EXPECT_TRUE(cluster::describes_gpus(name)) << name;
                seen.insert(name);
            }
        }
    for (const char* name : {"nvidia.com/gpu.clique", "nvidia.com/gpu.slices.ci", "nvidia.com/mig.strategy",
                             "nvidia.com/mig-1g.10gb.engines.ofa"})
        EXPECT_EQ(seen.count(name), 1U) << name;
}

TEST(NodeDevices, OtherWritersGetNoLabels) {
    for (const LabelMode mode : {LabelMode::no, LabelMode::nfd})
        EXPECT_TRUE(node_devices(facts(mode), false)->labels.value().empty());
}

/// Returns which of these values in a row are news: the status, and in words of their own the message.
std::string news(const std::vector<std::string>& values) {
    HealthNews health;
    std::optional<cluster::Condition> before;
    std::string found;
    for (const std::string& value : values) {
        const cluster::Condition after =
            cluster::make_condition(cluster::gpus_healthy, value.substr(0, value.find(' ')), "x", value);
        found += health.is_news(before ? &*before : nullptr, after) ? 'y' : 'n';
        before = after;
    }
    return found;
}

TEST(HealthNews, UnknownHidesNoRecovery) {
    EXPECT_EQ(news({"True", "False 1", "True"}), "nyy");
    EXPECT_EQ(news({"False 1", "Unknown", "True"}), "yny");
    EXPECT_EQ(news({"True", "Unknown", "True"}), "nnn");
}

TEST(HealthNews, UnknownRepeatsNoWarning) {
    EXPECT_EQ(news({"False 1", "Unknown", "Unknown again", "False 1"}), "ynnn");
    EXPECT_EQ(news({"False 1", "False 2", "Unknown", "False 1"}), "yyny");
}

TEST(HealthNews, NodeHasTheFirstValue) {
    const auto value = [](const char* status) {
        return cluster::make_condition(cluster::gpus_healthy, status, "x", "1");
    };
    const cluster::Condition unhealthy = value("False");
    const cluster::Condition unknown = value("Unknown");
    HealthNews health;
    EXPECT_FALSE(health.is_news(&unhealthy, unknown));
    EXPECT_TRUE(health.is_news(&unknown, value("True")));
}

} // namespace
} // namespace gpuhost
