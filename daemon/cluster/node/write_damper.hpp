// SPDX-License-Identifier: Apache-2.0
// Slows down repeated writes of a value that another writer reverts each time. Without this, two writers of
// one field on a Node write as fast as the network allows.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <map>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class WriteDamper {
  public:
    /// Returns when `patch`, a patch of a Node, may be written; nothing: now. Counts each field and value
    /// separately, and a condition without its times.
    [[nodiscard]] std::optional<Time> held_until(const base::Json& patch, Time now) const;
    /// Counts a patch that the server has accepted.
    void wrote(const base::Json& patch, Time now);

  private:
    /// Allows six writes at once, then one per interval. The interval grows while all allowed writes are
    /// used.
    struct Bucket {
        double tokens;
        Time interval;
        Time at; ///< when `tokens` was computed
    };
    [[nodiscard]] static Bucket filled(const Bucket& bucket, Time now);

    std::map<std::string, Bucket> buckets_; ///< keyed by field and value; full ones are removed
};

} // namespace gpuhost::cluster
