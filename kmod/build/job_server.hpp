// SPDX-License-Identifier: Apache-2.0
// Divides the host's processors among several processes of make: a job server as in GNU make's manual
// ("Sharing Job Slots with GNU make"). Each make may run one job. For each further job it reads one byte from
// a pipe, and writes it back at the job's end. The bytes of a make that is killed are lost. Later makes then
// run fewer jobs at the same time, but at least one each.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::kmod {

class JobServer {
  public:
    /// Creates a server for `jobs` jobs at the same time. Each of `makes` processes of make (1 to `jobs`) has
    /// one of these jobs from the beginning. Child processes inherit the pipe.
    [[nodiscard]] static base::Result<JobServer> create(unsigned jobs, unsigned makes);

    /// Returns "MAKEFLAGS=…" for the environment of a make. Do not pass it the option -j.
    [[nodiscard]] std::string variable() const;
    /// Call it after a make has ended, if no other is started in its place: the other makes may then run one
    /// more job.
    void give_up_one() const;

  private:
    JobServer(unsigned jobs, base::UniqueFd reader, base::UniqueFd writer)
        : jobs_(jobs), reader_(std::move(reader)), writer_(std::move(writer)) {}
    unsigned jobs_;
    base::UniqueFd reader_;
    base::UniqueFd writer_;
};

} // namespace gpuhost::kmod
