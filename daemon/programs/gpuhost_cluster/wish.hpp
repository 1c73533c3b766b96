// SPDX-License-Identifier: Apache-2.0
// Tells the daemon what the cluster wants of this host, whenever that is something else than it has been told.
#pragma once

#include "daemon/client/async_client.hpp"
#include "daemon/cluster/kube/backoff.hpp"
#include "daemon/core/cluster_wish.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gpuhost {

class WishTeller {
  public:
    using Say = std::function<void(const std::string& line)>;

    /// `daemon` outlives it.
    WishTeller(ctl::AsyncClient& daemon, Say say) : daemon_(daemon), say_(std::move(say)) {}

    /// What the daemon says of the host.
    void see(const base::Json& host);
    void lose() { is_seen_ = false; }
    /// At the moment that it is called nothing of the host is under way.
    void tell(const core::ClusterWish& wish);

    [[nodiscard]] std::optional<cluster::Time> due() const { return again_; }

  private:
    void answered(const base::Result<std::uint64_t>& started, const core::ClusterWish& wish);
    void note(const base::Error& trouble);

    ctl::AsyncClient& daemon_;
    Say say_;
    bool is_seen_ = false;
    bool asks_ = false; ///< the daemon has not answered yet
    bool has_gpus_ = false;
    bool is_pending_ = false; ///< the toolkit is not what the cluster wants, and could be
    std::string store_;       ///< of toolkits
    core::ClusterWish told_;
    std::string tried_; ///< the wish, and the store that it was tried on
    std::optional<cluster::Time> again_;
    std::string trouble_; ///< that was said
};

} // namespace gpuhost
