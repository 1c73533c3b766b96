// SPDX-License-Identifier: Apache-2.0
// One look at the daemon: its operations, those of them that somebody wants described, then the host. In this order, since a
// swap that has ended shows in the host.
#pragma once

#include "daemon/client/async_client.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace gpuhost {

struct DaemonState {
    std::vector<ctl::OperationRow> operations;                      ///< the newest last
    std::map<std::uint64_t, base::Result<base::Json>> descriptions; ///< of those that were wanted, or why not
    base::Result<base::Json> host = base::Json(); ///< Describe; an error where the daemon can't be asked
};

class DaemonLook {
  public:
    /// Returns the next operation to describe. Called again after each.
    using Wants = std::function<std::optional<std::uint64_t>(const DaemonState&)>;
    using Done = std::function<void(const DaemonState&)>;

    /// `daemon` outlives it.
    DaemonLook(ctl::AsyncClient& daemon, Wants wants, Done done)
        : daemon_(daemon), wants_(std::move(wants)), done_(std::move(done)) {}
    DaemonLook(const DaemonLook&) = delete;
    DaemonLook& operator=(const DaemonLook&) = delete;

    void begin();
    void cancel(); ///< the daemon is another one, or gone: what it has not answered yet does not count
    [[nodiscard]] bool busy() const { return busy_; }

  private:
    void describe();
    void finish(base::Result<base::Json> host);

    ctl::AsyncClient& daemon_;
    Wants wants_;
    Done done_;
    DaemonState state_;
    unsigned number_ = 0; ///< of the look: answers to another one are dropped
    bool busy_ = false;
};

} // namespace gpuhost
