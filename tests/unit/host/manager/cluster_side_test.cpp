// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/manager/cluster_side.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::host {
namespace {

using base::Json;
using core::ClusterDesired;

class ClusterSideTest : public testing::Test {
  protected:
    /// As another daemon finds it.
    [[nodiscard]] Json found() const {
        ClusterSide other(root_);
        other.load();
        return other.document();
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    ClusterSide side_{root_};
};

TEST_F(ClusterSideTest, AToolkitIsKeptAndADriverOnlyOffered) {
    directory_.write("/var/lib/gpuhost/x", "");
    EXPECT_EQ(side_.keep({"1.17.8", "550.163.01"}), true);
    EXPECT_EQ(side_.keep({"1.17.8", ""}), false) << "no setting has changed";
    EXPECT_EQ(side_.keep({"1.17.8", "550.163.01"}), false);
    EXPECT_EQ(found(), (Json{{"desired", {{"toolkit", "1.17.8"}}}, {"upgrade_requested", ""}}));
    side_.load();
    EXPECT_EQ(side_.document()["desired"]["driver"], "550.163.01") << "a reload is no reason to forget it";
    EXPECT_EQ(side_.keep({}), true);
    EXPECT_FALSE(root_.exists(core::cluster_desired_file));
    EXPECT_EQ(side_.keep({}), false);
}

TEST_F(ClusterSideTest, OnlyWhatIsOfferedCanBeAskedFor) {
    directory_.write("/var/lib/gpuhost/x", "");
    EXPECT_EQ(side_.request_upgrade("550.163.01").error().code, base::Errc::Refused);
    EXPECT_TRUE(side_.keep({"", "550.163.01"}));
    EXPECT_EQ(side_.request_upgrade("560.35.03").error().code, base::Errc::Refused);
    EXPECT_TRUE(side_.request_upgrade("550.163.01"));
    EXPECT_EQ(found()["upgrade_requested"], "550.163.01");
    side_.withdraw_driver();
    EXPECT_EQ(side_.document()["upgrade_requested"], "550.163.01")
        << "gpuhost-cluster takes it up when it is back";
    EXPECT_TRUE(side_.request_upgrade(""));
    EXPECT_EQ(found()["upgrade_requested"], "");
}

TEST_F(ClusterSideTest, WhatMakesNoSenseIsNotThere) {
    directory_.write(std::string(core::cluster_desired_file), "[Toolkit]\nVersion=newest\n");
    directory_.write("/run/gpuhost/upgrade-request", "../x\n");
    EXPECT_EQ(found(), (Json{{"desired", Json::object()}, {"upgrade_requested", ""}}));
}

} // namespace
} // namespace gpuhost::host
