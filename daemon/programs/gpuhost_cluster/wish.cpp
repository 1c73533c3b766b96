// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/wish.hpp"

#include <utility>

namespace gpuhost {

using base::Errc;
using base::Json;
using base::member;
using cluster::Time;

namespace {

constexpr Time between_tries{15'000}; ///< an operation may end, or the daemon return

bool is_full(const Json& list) {
    return list.is_array() && !list.empty();
}

} // namespace

void WishTeller::see(const Json& host) {
    const Json& components = member(host, "components");
    const Json& toolkit = member(components, "toolkit");
    is_seen_ = base::string_or(host, "state", "starting") != "starting";
    has_gpus_ = is_full(member(member(member(components, "driver"), "observed"), "gpus"));
    is_pending_ = is_full(member(member(toolkit, "plan"), "steps")) &&
                  base::bool_or(member(member(toolkit, "observed"), "wanted"), "of_cluster", false);
    store_ = base::dump(member(member(toolkit, "observed"), "store"));
    told_ =
        core::cluster_wish_from_json(member(member(host, "cluster"), "wish")).value_or(core::ClusterWish());
}

/// Sends a toolkit that was not in the store again when the store changes. A host without GPUs needs no
/// toolkit.
void WishTeller::tell(const core::ClusterWish& wanted) {
    if (!is_seen_ || asks_ || (again_ && cluster::now() < *again_))
        return;
    again_.reset();
    const core::ClusterWish wish = has_gpus_ ? wanted : core::ClusterWish();
    const std::string text = base::dump(core::to_json(wish));
    if (wish == told_ && (!is_pending_ || wish.toolkit.empty() || tried_ == text + store_))
        return;
    asks_ = true;
    daemon_.start(ctl::manager_call("SetClusterWish", {text}), {},
                  [this, wish, tried = text + store_](const base::Result<std::uint64_t>& started) {
                      asks_ = false;
                      answered(started, wish);
                      if (started)
                          tried_ = tried;
                  });
}

void WishTeller::answered(const base::Result<std::uint64_t>& started, const core::ClusterWish& wish) {
    if (!started)
        return note(started.error());
    trouble_.clear();
    if (wish.toolkit != told_.toolkit)
        say_(wish.toolkit.empty() ? "the cluster's policy says nothing of toolkits any more"
                                  : "the cluster's policy wants toolkit: " + wish.toolkit);
    told_ = wish;
}

void WishTeller::note(const base::Error& trouble) {
    again_ = cluster::now() + between_tries;
    if (trouble.code != Errc::Busy && std::exchange(trouble_, trouble.message) != trouble.message)
        say_("can't tell gpuhostd what the cluster wants: " + trouble.message);
}

} // namespace gpuhost
