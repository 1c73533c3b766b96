// SPDX-License-Identifier: Apache-2.0
// Unix sockets that have a name.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <string>

#include <sys/stat.h>
#include <sys/types.h>

namespace gpuhost::rpc {

/// A listening socket. Its file exists from the moment on when clients can connect, with mode 0600, and is
/// removed with this object, unless another process has replaced it.
class ListeningSocket {
  public:
    /// Replaces a socket file that no process listens on. Fails with AlreadyExists if another process
    /// listens, or if the file is not a socket.
    [[nodiscard]] static base::Result<ListeningSocket> make(std::string path);
    ListeningSocket(ListeningSocket&&) noexcept = default;
    ListeningSocket& operator=(ListeningSocket&&) = delete;
    ListeningSocket(const ListeningSocket&) = delete;
    ListeningSocket& operator=(const ListeningSocket&) = delete;
    ~ListeningSocket();

    [[nodiscard]] int get() const { return fd_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    ListeningSocket(base::UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    base::UniqueFd fd_;
    std::string path_;
    struct stat file_ {};
};

struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
};

/// Returns the process that connected the socket.
[[nodiscard]] base::Result<Peer> peer_of(int fd);

/// Connects to a listening socket, without blocking. Fails with Busy if the server's queue is full.
[[nodiscard]] base::Result<base::UniqueFd> connect_to(const std::string& path);

} // namespace gpuhost::rpc
