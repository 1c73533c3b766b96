// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/host/manager/cluster_side.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::host {
namespace {

using base::Json;

class ClusterSideTest : public testing::Test {
  protected:
    /// Returns the document that a restarted daemon loads.
    [[nodiscard]] Json found() const {
        ClusterSide other(root_);
        other.load();
        return other.document();
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    ClusterSide side_{root_};
};

TEST_F(ClusterSideTest, ToolkitIsStoredAndDriverIsOnlyOffered) {
    directory_.write("/var/lib/gpuhost/x", "");
    EXPECT_EQ(side_.keep({"1.17.8", "550.163.01"}), true);
    EXPECT_EQ(side_.keep({"1.17.8", ""}), false) << "no setting changed";
    EXPECT_EQ(side_.keep({"1.17.8", "550.163.01"}), false);
    EXPECT_EQ(found(), (Json{{"desired", {{"toolkit", "1.17.8"}}}, {"upgrade_requested", ""}}));
    side_.load();
    EXPECT_EQ(side_.document()["desired"]["driver"], "550.163.01") << "a reload keeps the offer";
    EXPECT_EQ(side_.keep({}), true);
    EXPECT_FALSE(root_.exists(core::cluster_desired_file));
    EXPECT_EQ(side_.keep({}), false);
}

TEST_F(ClusterSideTest, OnlyTheOfferedDriverCanBeRequested) {
    directory_.write("/var/lib/gpuhost/x", "");
    EXPECT_EQ(side_.request_upgrade("550.163.01").error().code, base::Errc::Refused);
    EXPECT_TRUE(side_.keep({"", "550.163.01"}));
    EXPECT_EQ(side_.request_upgrade("560.35.03").error().code, base::Errc::Refused);
    EXPECT_TRUE(side_.request_upgrade("550.163.01"));
    EXPECT_EQ(found()["upgrade_requested"], "550.163.01");
    side_.withdraw_driver();
    EXPECT_EQ(side_.document()["upgrade_requested"], "550.163.01")
        << "gpuhost-cluster handles the request once it runs again";
    EXPECT_TRUE(side_.request_upgrade(""));
    EXPECT_EQ(found()["upgrade_requested"], "");
}

TEST_F(ClusterSideTest, InvalidFilesAreIgnored) {
    directory_.write(std::string(core::cluster_desired_file), "[Toolkit]\nVersion=newest\n");
    directory_.write("/run/gpuhost/upgrade-request", "../x\n");
    EXPECT_EQ(found(), (Json{{"desired", Json::object()}, {"upgrade_requested", ""}}));
}

} // namespace
} // namespace gpuhost::host
