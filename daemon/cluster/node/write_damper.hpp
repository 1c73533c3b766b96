// SPDX-License-Identifier: Apache-2.0
// Slows down the write of one value that is made again and again, because somebody else takes it back each time. Without this,
// two writers of one field on a Node write as fast as the network lets them.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/cluster/kube/backoff.hpp"

#include <map>
#include <optional>
#include <string>

namespace gpuhost::cluster {

class WriteDamper {
  public:
    /// Returns when `patch`, a patch of a Node, may be written; nothing: now. Each field with its value counts by itself;
    /// a condition counts without its times.
    [[nodiscard]] std::optional<Time> held_until(const base::Json& patch, Time now) const;
    /// The server has taken it.
    void wrote(const base::Json& patch, Time now);

  private:
    /// Six writes at once, then one each interval. The interval grows while writes use up all there is.
    struct Bucket {
        double tokens;
        Time interval;
        Time at; ///< of `tokens`
    };
    [[nodiscard]] static Bucket filled(const Bucket& bucket, Time now);

    std::map<std::string, Bucket> buckets_; ///< by field and value; those that are full are dropped
};

} // namespace gpuhost::cluster
