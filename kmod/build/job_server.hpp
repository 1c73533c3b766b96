// SPDX-License-Identifier: Apache-2.0
// Lets several makes share the host's processors: a job server as in GNU make's manual ("Sharing Job Slots
// with GNU make", POSIX Jobserver Interaction). Each make has one job of its own, and takes a byte from a
// pipe for each further one. A make that is killed loses its bytes: later ones have fewer, but never less
// than their own.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

namespace gpuhost::kmod {

class JobServer {
  public:
    /// Creates a server for `jobs` at once; each of `makes` (1 to `jobs`) has one of them. Child processes
    /// inherit the pipe.
    [[nodiscard]] static base::Result<JobServer> create(unsigned jobs, unsigned makes);

    /// Returns "MAKEFLAGS=…" for the environment of a make, which must not get a -j option.
    [[nodiscard]] std::string variable() const;
    /// Gives one job back to the others, after a make has ended and no other starts in its place.
    void give_up_one() const;

  private:
    JobServer(unsigned jobs, base::UniqueFd reader, base::UniqueFd writer)
        : jobs_(jobs), reader_(std::move(reader)), writer_(std::move(writer)) {}
    unsigned jobs_;
    base::UniqueFd reader_;
    base::UniqueFd writer_;
};

} // namespace gpuhost::kmod
