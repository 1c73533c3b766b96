// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/programs/gpuhost_cluster/daemon_observer.hpp"
#include "tests/support/fake_daemon.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace gpuhost {
namespace {

using base::Errc;
using base::Json;

class DaemonObserverTest : public ::testing::Test {
  protected:
    tests::FakeDaemon daemon;
    std::vector<std::uint64_t> described; ///< ids to describe, in this order
    std::vector<DaemonState> seen;
    DaemonObserver observe{daemon.client,
                           [this](const DaemonState& state) -> std::optional<std::uint64_t> {
                               const std::size_t known = state.descriptions.size();
                               return known < described.size() ? std::optional(described[known])
                                                               : std::nullopt;
                           },
                           [this](const DaemonState& state) { seen.push_back(state); }};
};

TEST_F(DaemonObserverTest, HostIsDescribedAfterItsOperations) {
    described = {3, 5};
    daemon.rows.resize(2);
    observe.begin();
    EXPECT_FALSE(daemon.answer("Describe", Json())) << "operations are listed first";
    ASSERT_TRUE(daemon.answer("ListOperations", Json()));
    ASSERT_TRUE(daemon.answer("DescribeOperation", Json{{"state", "committed"}}));
    ASSERT_TRUE(daemon.answer("DescribeOperation", base::fail(Errc::NotFound, "there is no operation 5")));
    ASSERT_TRUE(daemon.answer("Describe", Json{{"state", "ready"}}));
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_FALSE(observe.busy());
    EXPECT_EQ(seen.front().operations.size(), 2U);
    EXPECT_TRUE(seen.front().descriptions.at(3).has_value());
    EXPECT_FALSE(seen.front().descriptions.at(5).has_value());
    EXPECT_EQ(seen.front().host.value(), (Json{{"state", "ready"}}));
}

TEST_F(DaemonObserverTest, AnswersAfterCancelAreDropped) {
    observe.begin();
    observe.cancel();
    EXPECT_FALSE(observe.busy());
    observe.begin();
    ASSERT_TRUE(daemon.answer("ListOperations", base::fail(Errc::Failed, "gpuhostd is not running")));
    EXPECT_TRUE(seen.empty());
    EXPECT_TRUE(observe.busy());
    ASSERT_TRUE(daemon.answer("ListOperations", Json()));
    ASSERT_TRUE(daemon.answer("Describe", Json{{"state", "ready"}}));
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_TRUE(seen.front().host.has_value());
}

TEST_F(DaemonObserverTest, FailedListEndsTheObservation) {
    observe.begin();
    ASSERT_TRUE(daemon.answer("ListOperations", base::fail(Errc::Timeout, "gpuhostd does not answer")));
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_FALSE(seen.front().host.has_value());
    EXPECT_EQ(daemon.calls("Describe"), 0U);
}

} // namespace
} // namespace gpuhost
