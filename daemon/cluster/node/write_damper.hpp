// SPDX-License-Identifier: Apache-2.0
// Slows down repeated writes of a value that another writer reverts each time. Otherwise two writers of one
// field of a Node would write as fast as the network allows.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <map>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class WriteDamper {
  public:
    /// Returns when `patch`, a patch of a Node, may be written; nullopt: now. Each field with its value
    /// counts separately. The times of conditions are ignored.
    [[nodiscard]] std::optional<Time> held_until(const base::Json& patch, Time now) const;
    /// Counts the writes of a patch that the server has accepted.
    void wrote(const base::Json& patch, Time now);

  private:
    /// Token bucket: allows six writes at once, then one per interval. While all allowed writes are used, the
    /// interval grows.
    struct Bucket {
        double tokens;
        Time interval;
        Time at; ///< when `tokens` was computed
    };
    [[nodiscard]] static Bucket filled(const Bucket& bucket, Time now);

    std::map<std::string, Bucket> buckets_; ///< keyed by a line of writes_of(); full buckets are removed
};

} // namespace gpuhost::cluster
