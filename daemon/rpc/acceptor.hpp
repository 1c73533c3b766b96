// SPDX-License-Identifier: Apache-2.0
// Accepts connections of a listening socket from processes that may connect.
#pragma once

#include "daemon/rpc/poller.hpp"
#include "daemon/rpc/socket.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpuhost::rpc {

struct Accepted {
    base::UniqueFd fd; ///< empty if no connection waits
    Peer peer;
};

/// Returns "process 12 (user 1000)", for messages.
[[nodiscard]] std::string name_of(const Peer& peer);

class Acceptor {
  public:
    /// The poller, which must outlive this object, reports `key` while a connection waits.
    Acceptor(ListeningSocket socket, Poller& poller, std::uint64_t key, bool allow_own_user);

    /// Accepts a connection of root, or of this process's user if that is allowed. Fails for one of another
    /// user, and pauses for a second if the process has no more descriptors.
    [[nodiscard]] base::Result<Accepted> accept(std::uint64_t now_us);
    [[nodiscard]] base::Result<void> resume();
    /// Ends a pause whose time is over.
    void resume_at(std::uint64_t now_us);
    [[nodiscard]] std::optional<std::uint64_t> paused_until() const { return paused_until_us_; }
    [[nodiscard]] const std::string& path() const { return socket_.path(); }

  private:
    ListeningSocket socket_;
    Poller& poller_;
    std::uint64_t key_;
    bool allow_own_user_;
    std::optional<std::uint64_t> paused_until_us_;
};

} // namespace gpuhost::rpc
