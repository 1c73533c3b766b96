// SPDX-License-Identifier: Apache-2.0
// --root of verbs that ask gpuhostd: one of its own for the system that is mounted there, and for this client alone.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"
#include "daemon/ctl/cli/verb.hpp"

#include <string>
#include <utility>

#include <sys/types.h>

namespace gpuhost::ctl {

namespace option {
inline constexpr Option mounted{"root", "DIRECTORY", "of the system mounted there, which does not run"};
}

class MountedDaemon {
  public:
    /// Comes back once what was left unfinished there has gone back, of which it tells on stderr; with `look` it changes nothing.
    [[nodiscard]] static base::Result<MountedDaemon> start(const std::string& directory, bool look);
    MountedDaemon(MountedDaemon&& other) noexcept
        : socket_(std::move(other.socket_)), pid_(std::exchange(other.pid_, -1)) {}
    MountedDaemon& operator=(MountedDaemon&&) = delete;
    MountedDaemon(const MountedDaemon&) = delete;
    MountedDaemon& operator=(const MountedDaemon&) = delete;
    /// Waits for its end, so that the system can be unmounted then. It ends when its socket is closed, by whoever took it.
    ~MountedDaemon();

    [[nodiscard]] base::UniqueFd take_socket() { return std::move(socket_); }

  private:
    MountedDaemon(base::UniqueFd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}
    base::UniqueFd socket_;
    pid_t pid_;
};

} // namespace gpuhost::ctl
