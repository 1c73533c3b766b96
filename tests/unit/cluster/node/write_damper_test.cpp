// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/cluster/node/write_damper.hpp"

#include <gtest/gtest.h>

namespace gpuhost::cluster {
namespace {

using base::Json;

Json label(const std::string& value, const std::string& version = "1") {
    return {{"metadata", {{"resourceVersion", version}, {"labels", {{"state", value}}}}}};
}

Json condition(const std::string& message, const std::string& time) {
    return {
        {"status", {{"conditions", {{{"type", "T"}, {"message", message}, {"lastHeartbeatTime", time}}}}}}};
}

class WriteDamperTest : public testing::Test {
  protected:
    /// Writes as soon as allowed during `duration`. Returns the number of writes.
    template <class Patch>
    unsigned fight(Patch patch, Time duration) {
        unsigned writes = 0;
        for (const Time end = now + duration; now < end;) {
            const Json made = patch(writes);
            if (const auto held = damper.held_until(made, now)) {
                now = std::min(end, *held);
                continue;
            }
            damper.wrote(made, now);
            ++writes;
            now += Time(10); // the other writer's turn
        }
        return writes;
    }

    WriteDamper damper;
    Time now{1'000'000};
};

TEST_F(WriteDamperTest, SameValueIsWrittenSixTimesWithoutDelay) {
    EXPECT_EQ(fight([](unsigned n) { return label("done", std::to_string(n)); }, Time(5'000)), 6U);
}

TEST_F(WriteDamperTest, ContestedValueIsWrittenEveryTenMinutes) {
    (void)fight([](unsigned) { return label("done"); }, Time(3'600'000));
    const unsigned later = fight([](unsigned) { return label("done"); }, Time(6 * 3'600'000));
    EXPECT_LE(later, 37U);
    EXPECT_GE(later, 35U);
}

TEST_F(WriteDamperTest, OtherValuesAreNotHeld) {
    EXPECT_EQ(fight([](unsigned n) { return label(std::to_string(n)); }, Time(1'000)), 100U);
}

TEST_F(WriteDamperTest, DelayIsResetAfterAQuietHour) {
    (void)fight([](unsigned) { return label("done"); }, Time(5'000));
    now += Time(3'600'000);
    EXPECT_EQ(fight([](unsigned) { return label("done"); }, Time(5'000)), 6U);
}

TEST_F(WriteDamperTest, ConditionsAreComparedWithoutTimes) {
    EXPECT_EQ(fight([](unsigned n) { return condition("a", std::to_string(n)); }, Time(5'000)), 6U);
    EXPECT_FALSE(damper.held_until(condition("b", "0"), now));
}

TEST_F(WriteDamperTest, WritesFiveMinutesApartAreNeverHeld) {
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_FALSE(damper.held_until(condition("a", std::to_string(i)), now));
        damper.wrote(condition("a", std::to_string(i)), now);
        now += Time(300'000);
    }
}

} // namespace
} // namespace gpuhost::cluster
