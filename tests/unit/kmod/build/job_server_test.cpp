// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/job_server.hpp"

#include <cstdio>

#include <gtest/gtest.h>
#include <sys/ioctl.h>

namespace gpuhost::kmod {
namespace {

/// Returns the number of shared jobs besides one per make.
int shared_by(const JobServer& server) {
    int jobs = 0;
    int reader = -1;
    int writer = -1;
    EXPECT_EQ(std::sscanf(server.variable().c_str(), "MAKEFLAGS= -j%d --jobserver-auth=%d,%d", &jobs, &reader,
                          &writer),
              3)
        << server.variable();
    int bytes = -1;
    EXPECT_EQ(::ioctl(reader, FIONREAD, &bytes), 0);
    return bytes;
}

TEST(JobServer, EachMakeOwnsOneJob) {
    EXPECT_EQ(shared_by(*JobServer::create(8, 3)), 5);
    EXPECT_EQ(shared_by(*JobServer::create(64, 1)), 63);
    EXPECT_EQ(shared_by(*JobServer::create(1, 1)), 0);
}

TEST(JobServer, EndedMakeReleasesItsJob) {
    const auto server = JobServer::create(4, 2);
    ASSERT_TRUE(server);
    EXPECT_EQ(shared_by(*server), 2);
    server->give_up_one();
    EXPECT_EQ(shared_by(*server), 3);
}

} // namespace
} // namespace gpuhost::kmod
