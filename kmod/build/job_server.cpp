// SPDX-License-Identifier: Apache-2.0
#include "kmod/build/job_server.hpp"

#include <array>
#include <cerrno>

#include <unistd.h>

namespace gpuhost::kmod {

base::Result<JobServer> JobServer::create(unsigned jobs, unsigned makes) {
    std::array<int, 2> ends{};
    // NOLINT(android-cloexec-pipe): make inherits the pipe, and gets its descriptor numbers in MAKEFLAGS.
    if (::pipe(ends.data()) < 0)
        return base::fail_errno("pipe", errno);
    JobServer server(jobs, base::UniqueFd(ends[0]), base::UniqueFd(ends[1]));
    for (unsigned shared = makes; shared < jobs; ++shared)
        server.give_up_one();
    return server;
}

std::string JobServer::variable() const {
    return "MAKEFLAGS= -j" + std::to_string(jobs_) + " --jobserver-auth=" + std::to_string(reader_.get()) +
           "," + std::to_string(writer_.get());
}

void JobServer::give_up_one() const {
    while (::write(writer_.get(), "+", 1) < 0 && errno == EINTR) {
    }
}

} // namespace gpuhost::kmod
