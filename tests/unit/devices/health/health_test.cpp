// SPDX-License-Identifier: Apache-2.0
#include "daemon/devices/health/clears.hpp"
#include "daemon/devices/health/health.hpp"
#include "daemon/devices/health/xid_table.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

class HealthTest : public testing::Test {
  protected:
    HealthTest() {
        Gpu whole;
        whole.uuid = "GPU-1";
        whole.address = "0000:01:00.0";
        Gpu split;
        split.uuid = "GPU-2";
        split.address = "0000:02:00.0";
        split.split = true;
        split.instances = {{"MIG-5", "1g.10gb", 0, 5, 0}, {"MIG-6", "1g.10gb", 1, 6, 0}};
        offer.gpus = {whole, split};
    }

    /// Adds a line of the driver, one second after the former one.
    void see(const std::string& line) {
        now_us += 1'000'000;
        const auto event = parse_kernel_line("NVRM: " + line);
        ASSERT_TRUE(event) << line;
        add_event(log, *event, now_us);
    }
    void see_xid(unsigned xid, const std::string& place = "PCI:0000:01:00") {
        see("Xid (" + place + "): " + std::to_string(xid) + ", text " + std::to_string(xid));
    }
    void see_action(int action) {
        see("Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x9 (a) to 0x" +
            std::to_string(action) + " (word)");
    }
    void load() { see("loading NVIDIA UNIX x86_64 Kernel Module  550.163.01"); }

    /// Clears a device, as a new offer does. The host's clock may be wrong.
    void clear(const std::string& uuid) {
        auto& clears = offer.health.clears;
        clears.push_back({uuid, -static_cast<std::int64_t>(clears.size())});
        EXPECT_TRUE(apply_clears(log, offer.gpus, offer.health));
        EXPECT_FALSE(apply_clears(log, offer.gpus, offer.health));
    }

    [[nodiscard]] DeviceHealth health(const std::string& uuid = "GPU-1") const {
        const auto list = evaluate_health(log, offer);
        const DeviceHealth* found = find_health(list, uuid);
        return found != nullptr ? *found : DeviceHealth();
    }
    [[nodiscard]] HealthState state(const std::string& uuid = "GPU-1") const { return health(uuid).state; }

    FaultLog log;
    Offer offer{"1", "nvidia.com/gpu", MigStrategy::mixed, "", {}, {}};
    std::int64_t now_us = 1'000'000'000;
};

TEST(XidTable, EachClassHasItsRecovery) {
    for (const unsigned xid : {46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158})
        EXPECT_EQ(xid_recovery(xid, false), Recovery::reset) << xid;
    for (const unsigned xid : {79, 151})
        EXPECT_EQ(xid_recovery(xid, false), Recovery::reboot) << xid;
    for (const unsigned xid : {8, 13, 31, 32, 43, 45, 54, 63, 69, 74, 92, 94, 121, 137, 145, 154, 171, 9999})
        EXPECT_EQ(xid_recovery(xid, false), Recovery::none) << xid;
    for (const unsigned xid : {74, 144, 145, 146, 147, 148, 149, 150})
        EXPECT_EQ(xid_recovery(xid, true), Recovery::reset) << xid;
}

TEST(XidTable, EachActionHasItsRecovery) {
    EXPECT_EQ(action_recovery(0), Recovery::none);
    for (const unsigned action : {1, 3, 4, 5, 8})
        EXPECT_EQ(action_recovery(action), Recovery::reset) << action;
    for (const unsigned action : {2, 6, 7})
        EXPECT_EQ(action_recovery(action), Recovery::reboot) << action;
}

TEST_F(HealthTest, NothingIsListedWithoutErrors) {
    EXPECT_TRUE(evaluate_health(log, offer).empty());
    see_xid(79, "PCI:0000:09:00");
    EXPECT_TRUE(evaluate_health(log, offer).empty());
}

TEST_F(HealthTest, ErrorOfAnApplicationIsNoted) {
    see_xid(13);
    see_xid(31);
    const DeviceHealth noted = health();
    EXPECT_EQ(noted.state, HealthState::noted);
    EXPECT_EQ(noted.xid, 31U);
    EXPECT_EQ(noted.recovery, Recovery::none);
    EXPECT_EQ(noted.since_us, now_us);
    EXPECT_EQ(advice(noted), "");
}

TEST_F(HealthTest, FirstOfEqualFaultsIsTheReason) {
    see_xid(48);
    const auto first = now_us;
    see_xid(13);
    see_xid(119);
    see_xid(48);
    EXPECT_EQ(health(),
              (DeviceHealth{"GPU-1", HealthState::unhealthy, Recovery::reset, "Xid 48: text 48", 48, first}));
    EXPECT_EQ(log.faults.size(), 3U);
    EXPECT_EQ(log.faults[0].count, 2U);
}

TEST_F(HealthTest, RestartOfTheHostOutweighsAReset) {
    see_xid(48);
    see_xid(79);
    EXPECT_EQ(health().recovery, Recovery::reboot);
    EXPECT_EQ(health().xid, 79U);
    EXPECT_NE(advice(health()).find("systemctl reboot"), std::string::npos);
}

TEST_F(HealthTest, FailedMemoryLastsUntilTheReplacement) {
    offer.gpus[0].memory_failed = true;
    const DeviceHealth failed = health();
    EXPECT_EQ(failed.state, HealthState::unhealthy);
    EXPECT_EQ(failed.recovery, Recovery::replacement);
    EXPECT_EQ(advice(failed), "Replace the GPU.");
    see_xid(13);
    EXPECT_EQ(health().xid, 0U) << "not of an error that is only noted";
    EXPECT_EQ(health().since_us, 0);
    see_xid(64);
    EXPECT_EQ(health().reason, failed.reason + "; Xid 64: text 64");
    EXPECT_EQ(health().xid, 64U);
    clear("GPU-1");
    load();
    EXPECT_EQ(health(), failed);
    offer.health.ignore_xids = {64};
    EXPECT_EQ(state(), HealthState::healthy);
}

TEST_F(HealthTest, FailedMemoryAffectsAllMigDevices) {
    offer.gpus[1].memory_failed = true;
    for (const char* uuid : {"GPU-2", "MIG-5", "MIG-6"})
        EXPECT_EQ(state(uuid), HealthState::unhealthy) << uuid;
}

TEST_F(HealthTest, MemoryThatWaitsForAResetIsNoted) {
    offer.gpus[0].memory_pending = true;
    EXPECT_EQ(state(), HealthState::noted);
    EXPECT_EQ(health().recovery, Recovery::none);
    see_xid(48);
    EXPECT_EQ(health().reason, "Xid 48: text 48");
    clear("GPU-1");
    offer.health.ignore_xids = {63};
    EXPECT_EQ(state(), HealthState::healthy);
}

TEST_F(HealthTest, GpuInstanceLimitsTheFault) {
    see_xid(109, "PCI:0000:02:00 GPU-I:05 GPU-CI:00");
    EXPECT_EQ(state("MIG-5"), HealthState::unhealthy);
    EXPECT_EQ(state("MIG-6"), HealthState::healthy);
    EXPECT_EQ(state("GPU-2"), HealthState::healthy);
}

TEST_F(HealthTest, FaultWithoutInstanceAffectsAllOfTheGpu) {
    see_xid(79, "PCI:0000:02:00");
    for (const char* uuid : {"GPU-2", "MIG-5", "MIG-6"})
        EXPECT_EQ(state(uuid), HealthState::unhealthy) << uuid;
    EXPECT_EQ(state("GPU-1"), HealthState::healthy);
}

TEST_F(HealthTest, UnknownInstanceCountsForTheWholeGpu) {
    see_xid(109, "PCI:0000:02:00 GPU-I:09");
    see_xid(109, "PCI:0000:01:00 GPU-I:01");
    for (const char* uuid : {"GPU-1", "GPU-2", "MIG-5", "MIG-6"})
        EXPECT_EQ(state(uuid), HealthState::unhealthy) << uuid;
}

TEST_F(HealthTest, DriverReplacesTheTablesRecovery) {
    see_xid(79);
    see_action(1);
    EXPECT_EQ(health().recovery, Recovery::reset);
    EXPECT_EQ(health().xid, 79U);
    EXPECT_EQ(health().reason, "Xid 79: text 79; the driver requires: word");
    see_action(2);
    EXPECT_EQ(health().recovery, Recovery::reboot);
}

TEST_F(HealthTest, DriverMayRequireAnActionWithoutAFault) {
    see_action(4);
    EXPECT_EQ(health(), (DeviceHealth{"GPU-1", HealthState::unhealthy, Recovery::reset,
                                      "Xid 154: the driver requires: word", 154, now_us}));
    see_xid(13);
    EXPECT_EQ(health().state, HealthState::unhealthy);
    EXPECT_EQ(health().xid, 13U);
}

TEST_F(HealthTest, DriverEndsFaultsOfAGpu) {
    see_xid(79);
    see_xid(79, "PCI:0000:02:00");
    see_action(2);
    see_action(0);
    EXPECT_EQ(state(), HealthState::healthy);
    EXPECT_EQ(state("GPU-2"), HealthState::unhealthy);
    see_xid(79);
    EXPECT_EQ(health().since_us, now_us);
    EXPECT_EQ(state(), HealthState::unhealthy);
}

TEST_F(HealthTest, LoadEndsWhatNeedsAReset) {
    see_xid(13);
    see_xid(119);
    see_xid(79, "PCI:0000:02:00");
    load();
    EXPECT_EQ(state(), HealthState::healthy);
    EXPECT_EQ(state("MIG-5"), HealthState::unhealthy);
}

TEST_F(HealthTest, LoadEndsWhatTheDriverWouldReset) {
    see_xid(79);
    see_action(1);
    load();
    EXPECT_EQ(state(), HealthState::healthy);
    see_xid(119);
    see_action(2);
    load();
    EXPECT_EQ(health().recovery, Recovery::reboot);
}

TEST_F(HealthTest, IgnoredXidsDoNotCount) {
    offer.health.ignore_xids = {48, 154};
    see_xid(48);
    see_action(2);
    EXPECT_EQ(state(), HealthState::healthy);
    see_xid(62);
    EXPECT_EQ(health().recovery, Recovery::reset);
}

TEST_F(HealthTest, FatalXidsLastUntilAClear) {
    offer.health.fatal_xids = {13};
    offer.health.ignore_xids = {13};
    see_xid(13);
    load();
    see_action(0);
    EXPECT_EQ(state(), HealthState::unhealthy);
    EXPECT_EQ(health().recovery, Recovery::reboot);
    clear("GPU-1");
    EXPECT_EQ(state(), HealthState::healthy);
}

TEST_F(HealthTest, ClearEndsFaultsUntilThen) {
    see_xid(79);
    see_action(2);
    clear("GPU-1");
    EXPECT_EQ(state(), HealthState::healthy);
    see_xid(79);
    EXPECT_EQ(state(), HealthState::unhealthy);
    EXPECT_EQ(health().since_us, now_us);
}

TEST_F(HealthTest, ClearOfAMigDeviceLeavesTheOthers) {
    see_xid(79, "PCI:0000:02:00");
    clear("MIG-5");
    EXPECT_EQ(state("MIG-5"), HealthState::healthy);
    EXPECT_EQ(state("MIG-6"), HealthState::unhealthy);
    clear("GPU-2");
    EXPECT_EQ(state("MIG-6"), HealthState::healthy);
}

TEST_F(HealthTest, RepeatAfterAClearIsANewFault) {
    see_xid(79, "PCI:0000:02:00");
    clear("GPU-2");
    EXPECT_TRUE(log.faults.empty());
    see_xid(79, "PCI:0000:02:00");
    clear("MIG-5");
    EXPECT_EQ(state("MIG-5"), HealthState::healthy);
    KernelEvent event;
    event.address = "0000:02:00";
    event.xid = 79;
    EXPECT_TRUE(add_event(log, event, 5));
    EXPECT_EQ(health("MIG-5").since_us, 5);
    const auto before = health("MIG-5");
    EXPECT_FALSE(add_event(log, event, 6));
    EXPECT_EQ(health("MIG-5"), before);
}

TEST_F(HealthTest, MarkMakesADeviceUnhealthy) {
    offer.health.marks = {{"GPU-1", "burn-in failed", 7}, {"MIG-6", "slow", 8}};
    EXPECT_EQ(health(), (DeviceHealth{"GPU-1", HealthState::unhealthy, Recovery::none,
                                      "marked by an administrator: burn-in failed", 0, 7}));
    EXPECT_NE(advice(health()).find("gpuhostctl gpu clear GPU-1"), std::string::npos);
    EXPECT_EQ(state("MIG-5"), HealthState::healthy);
    EXPECT_EQ(state("MIG-6"), HealthState::unhealthy);
    see_xid(13);
    EXPECT_EQ(health().recovery, Recovery::none);
    see_xid(79);
    EXPECT_EQ(health().recovery, Recovery::reboot);
    EXPECT_EQ(health().xid, 79U);
    EXPECT_EQ(health().reason, "marked by an administrator: burn-in failed; Xid 79: text 79");
    EXPECT_EQ(health().since_us, 7);
}

TEST_F(HealthTest, AdviceNamesTheDeviceToClear) {
    offer.health.marks = {{"MIG-6", "slow", 8}};
    EXPECT_NE(advice(health("MIG-6")).find("gpu clear MIG-6."), std::string::npos);
    offer.health.marks = {{"GPU-2", "slow", 8}};
    EXPECT_NE(advice(health("MIG-6")).find("gpu clear GPU-2."), std::string::npos);
    see_xid(119, "PCI:0000:02:00 GPU-I:05");
    EXPECT_NE(advice(health("MIG-5")).find("--gpu-reset -i GPU-2'"), std::string::npos);
    see_xid(119);
    EXPECT_NE(advice(health()).find("--gpu-reset -i GPU-1', then: gpuhostctl gpu clear GPU-1."),
              std::string::npos);
}

TEST_F(HealthTest, OnlyUnhealthyDevicesAreKeptFromPods) {
    see_xid(13);
    see_xid(79, "PCI:0000:02:00 GPU-I:05");
    for (Resource resource : resources_of(offer)) {
        add_health(resource, evaluate_health(log, offer));
        for (const ResourceDevice& device : resource.devices)
            EXPECT_EQ(device.unhealthy.empty(), device.id != "MIG-5") << device.id;
    }
}

TEST_F(HealthTest, AllReplicasOfAnUnhealthyGpuAreUnhealthy) {
    offer.sharing = {{{"nvidia.com/gpu", 2}, {"nvidia.com/mig-1g.10gb", 2}}};
    see_xid(79, "PCI:0000:02:00");
    std::vector<std::string> unhealthy;
    for (Resource resource : resources_of(offer)) {
        add_health(resource, evaluate_health(log, offer));
        for (const ResourceDevice& device : resource.devices)
            if (!device.unhealthy.empty())
                unhealthy.push_back(device.id);
    }
    EXPECT_EQ(unhealthy, (std::vector<std::string>{"MIG-5::0", "MIG-5::1", "MIG-6::0", "MIG-6::1"}));
}

TEST_F(HealthTest, ClearOfEachGpuEndsMissingErrors) {
    clear("GPU-1");
    clear("GPU-2");
    EXPECT_TRUE(lose_errors(log, "a message was lost"));
    EXPECT_FALSE(lose_errors(log, "a message was lost"));
    EXPECT_EQ(log.missing, "earlier errors may be missing: a message was lost");
    clear("GPU-1");
    clear("MIG-5");
    clear("MIG-6");
    EXPECT_FALSE(log.missing.empty());
    EXPECT_FALSE(apply_clears(log, {}, offer.health));
    clear("GPU-2");
    EXPECT_EQ(log.missing, "");
    EXPECT_TRUE(log.checked.empty());
}

TEST_F(HealthTest, ClearEndsNoErrorsThatAreMissingLater) {
    (void)lose_errors(log, "a message was lost");
    clear("GPU-1");
    EXPECT_TRUE(lose_errors(log, "more messages were lost"));
    clear("GPU-2");
    EXPECT_EQ(log.missing, "earlier errors may be missing: more messages were lost");
    clear("GPU-1");
    EXPECT_EQ(log.missing, "");
}

TEST_F(HealthTest, MissingErrorsOfAMarkedGpuEnd) {
    (void)lose_errors(log, "a message was lost");
    clear("GPU-1");
    offer.health.marks = {{"MIG-5", "slow", 8}};
    EXPECT_FALSE(apply_clears(log, offer.gpus, offer.health));
    offer.health.marks = {{"GPU-2", "slow", 8}};
    EXPECT_TRUE(apply_clears(log, offer.gpus, offer.health));
    EXPECT_EQ(log.missing, "");
}

TEST_F(HealthTest, LoadEndsMissingErrors) {
    (void)lose_errors(log, "a message was lost");
    clear("GPU-1");
    load();
    EXPECT_EQ(log.missing, "");
    EXPECT_TRUE(lose_errors(log, "a message was lost"));
    clear("GPU-2");
    EXPECT_NE(log.missing, "");
}

TEST_F(HealthTest, SavedLogIsTheSame) {
    see_xid(79, "PCI:0000:02:00 GPU-I:05");
    see_xid(145);
    see_action(2);
    clear("MIG-6");
    log.next_sequence = 4711;
    log.missing = "a message was lost";
    log.checked = {"GPU-1"};
    const auto parsed = parse_fault_log(to_text(log));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, log);
    for (const char* text : {"", "[]", "{}", R"({"next_sequence": 1, "faults": [{}]})",
                             R"({"next_sequence": 1, "actions": [{"address": "a", "action": 0}]})"})
        EXPECT_FALSE(parse_fault_log(text)) << text;
}

TEST_F(HealthTest, LogIsBounded) {
    for (unsigned gpu = 0; gpu < 256; ++gpu)
        for (unsigned xid = 1; xid <= 8; ++xid) {
            KernelEvent event;
            event.address = "0000:01:" + std::to_string(gpu);
            event.xid = xid;
            add_event(log, event, 1);
            event.kind = KernelEventKind::recovery;
            event.address += std::to_string(xid);
            event.action = 1;
            add_event(log, event, 1);
        }
    EXPECT_EQ(log.faults.size(), most_faults);
    EXPECT_EQ(log.actions.size(), most_actions);
}

TEST_F(HealthTest, RepeatedFaultIsNotReportedAgain) {
    KernelEvent event;
    event.address = "0000:01:00";
    event.xid = 145;
    EXPECT_TRUE(add_event(log, event, 1));
    EXPECT_FALSE(add_event(log, event, 2));
    event.fatal = true;
    EXPECT_TRUE(add_event(log, event, 3));
    EXPECT_FALSE(add_event(log, event, 4));
    EXPECT_EQ(log.faults[0].last_us, 4);
}

} // namespace
} // namespace gpuhost::devices
