// SPDX-License-Identifier: Apache-2.0
// Several makes that share the host's processors: a job server as in GNU make's manual ("Sharing Job Slots with GNU make",
// POSIX Jobserver Interaction). Each make has one job of its own, and takes a byte out of a pipe for each one more. One that is
// killed takes its bytes along: those after it have fewer, and never less than their own.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::kmod {

class JobServer {
  public:
    /// `jobs` at once, of which each of `makes` (1 to `jobs`) has one. The pipe stays open in whatever this process starts.
    [[nodiscard]] static base::Result<JobServer> create(unsigned jobs, unsigned makes);

    /// "MAKEFLAGS=…", for a make's environment; it must be given no -j.
    [[nodiscard]] std::string variable() const;
    /// One of the makes has ended, and no other takes its place: its job is the others'.
    void give_up_one() const;

  private:
    JobServer(unsigned jobs, base::UniqueFd reader, base::UniqueFd writer)
        : jobs_(jobs), reader_(std::move(reader)), writer_(std::move(writer)) {}
    unsigned jobs_;
    base::UniqueFd reader_;
    base::UniqueFd writer_;
};

} // namespace gpuhost::kmod
