// SPDX-License-Identifier: Apache-2.0
// Reads the state of the daemon: its operations, the requested descriptions, and then the host. In this
// order, because the host must include the result of a swap that has ended.
#pragma once

#include "daemon/client/async_client.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace gpuhost {

struct DaemonState {
    std::vector<client::OperationRow> operations; ///< the newest last
    /// Descriptions of the requested operations, or errors.
    std::map<std::uint64_t, base::Result<base::Json>> descriptions;
    /// The answer to Describe; an error if the daemon is not available.
    base::Result<base::Json> host = base::Json();
};

class DaemonObserver {
  public:
    /// Returns the next operation to describe. Called again after each description.
    using Wants = std::function<std::optional<std::uint64_t>(const DaemonState&)>;
    using Done = std::function<void(const DaemonState&)>;

    /// `daemon` must outlive it.
    DaemonObserver(client::AsyncClient& daemon, Wants wants, Done done)
        : daemon_(daemon), wants_(std::move(wants)), done_(std::move(done)) {}
    DaemonObserver(const DaemonObserver&) = delete;
    DaemonObserver& operator=(const DaemonObserver&) = delete;

    void begin();
    /// Call when the daemon has restarted or is gone. Drops the answers in flight.
    void cancel();
    [[nodiscard]] bool busy() const { return busy_; }

  private:
    void describe();
    void finish(base::Result<base::Json> host);

    client::AsyncClient& daemon_;
    Wants wants_;
    Done done_;
    DaemonState state_;
    unsigned number_ = 0; ///< number of this look: answers to earlier ones are dropped
    bool busy_ = false;
};

} // namespace gpuhost
