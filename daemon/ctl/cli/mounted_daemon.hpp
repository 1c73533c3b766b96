// SPDX-License-Identifier: Apache-2.0
// Implements --root for verbs that query gpuhostd: starts a gpuhostd for the mounted system, which serves
// only this process.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"
#include "daemon/ctl/cli/verb.hpp"

#include <string>
#include <utility>

#include <sys/types.h>

namespace gpuhost::ctl {

namespace option {
inline constexpr Option mounted{"root", "DIRECTORY", "use the system that is mounted there and not running"};
}

class MountedDaemon {
  public:
    /// Starts a gpuhostd for the system that is mounted at `directory`. Returns when this gpuhostd has undone
    /// the unfinished operations of the system, with messages on stderr. With `read_only`, gpuhostd changes
    /// nothing.
    [[nodiscard]] static base::Result<MountedDaemon> start(const std::string& directory, bool read_only);
    MountedDaemon(MountedDaemon&& other) noexcept
        : socket_(std::move(other.socket_)), pid_(std::exchange(other.pid_, -1)) {}
    MountedDaemon& operator=(MountedDaemon&&) = delete;
    MountedDaemon(const MountedDaemon&) = delete;
    MountedDaemon& operator=(const MountedDaemon&) = delete;
    /// Closes the socket, so that the started gpuhostd exits, and waits for its exit. The system can then be
    /// unmounted. If release_socket() moved the socket, close it first.
    ~MountedDaemon();

    [[nodiscard]] base::UniqueFd release_socket() { return std::move(socket_); }

  private:
    MountedDaemon(base::UniqueFd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
    base::UniqueFd socket_;
    pid_t pid_;
};

} // namespace gpuhost::ctl
