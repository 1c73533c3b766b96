// SPDX-License-Identifier: Apache-2.0
// Reads the state of gpuhostd: first the list of operations, then the descriptions of some of them, then the
// host. Because of this order, the host's state includes the result of a swap that has ended.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/client/async_client.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace gpuhost {

struct DaemonState {
    std::vector<client::OperationRow> operations; ///< the newest last
    /// Descriptions, or errors, of the operations that Wants returned.
    std::map<std::uint64_t, base::Result<base::Json>> descriptions;
    /// The reply to Describe; an error if gpuhostd is not available.
    base::Result<base::Json> host = base::Json();
};

class DaemonObserver {
  public:
    /// Returns the next operation to describe, or nullopt after the last one. Called again after each
    /// description.
    using Wants = std::function<std::optional<std::uint64_t>(const DaemonState&)>;
    using Done = std::function<void(const DaemonState&)>;

    /// `daemon` must outlive this object.
    DaemonObserver(client::AsyncClient& daemon, Wants wants, Done done)
        : daemon_(daemon), wants_(std::move(wants)), done_(std::move(done)) {}
    DaemonObserver(const DaemonObserver&) = delete;
    DaemonObserver& operator=(const DaemonObserver&) = delete;
    ~DaemonObserver() = default;

    void begin();
    /// Call this when gpuhostd has restarted or exited. Replies that are still pending are ignored.
    void cancel();
    [[nodiscard]] bool busy() const { return busy_; }

  private:
    void describe();
    void finish(base::Result<base::Json> host);

    client::AsyncClient& daemon_;
    Wants wants_;
    Done done_;
    DaemonState state_;
    unsigned number_ = 0; ///< number of this observation; replies to earlier ones are ignored
    bool busy_ = false;
};

} // namespace gpuhost
