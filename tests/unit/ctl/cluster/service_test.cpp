// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cluster/service.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

TEST(ClusterService, MissingStatusSaysWhatTheUnitDoes) {
    for (const char* state : {"start", "start-pre", "start-post"})
        EXPECT_EQ(no_cluster_status(state).message, "gpuhost-cluster is starting") << state;
    const base::Error failed = no_cluster_status("auto-restart\n");
    EXPECT_EQ(failed.message, "gpuhost-cluster has failed, and will be started again");
    EXPECT_EQ(failed.hint, "See why: journalctl -u gpuhost-cluster.");
    for (const char* state : {"dead", "failed", "running", ""})
        EXPECT_EQ(no_cluster_status(state).message, "gpuhost-cluster is not running") << state;
}

} // namespace
} // namespace gpuhost::ctl
