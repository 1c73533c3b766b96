// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/desired_publisher.hpp"

#include "daemon/base/json.hpp"

#include <utility>

namespace gpuhost {

using base::Errc;
using base::Json;
using base::member;
using cluster::Time;

namespace {

/// Time between two attempts. Meanwhile an operation may end, or gpuhostd may start.
constexpr Time between_tries{15'000};

bool is_full(const Json& list) {
    return list.is_array() && !list.empty();
}

} // namespace

void DesiredPublisher::see(const Json& host) {
    const Json& components = member(host, "components");
    const Json& toolkit = member(components, "toolkit");
    is_seen_ = base::string_or(host, "state", "starting") != "starting";
    has_gpus_ = is_full(member(member(member(components, "driver"), "observed"), "gpus"));
    is_pending_ = is_full(member(member(toolkit, "plan"), "steps")) &&
                  base::bool_or(member(member(toolkit, "observed"), "wanted"), "from_cluster", false);
    store_ = base::dump(member(member(toolkit, "observed"), "store"));
    published_ = core::cluster_desired_from_json(member(member(host, "cluster"), "desired"))
                     .value_or(core::ClusterDesired());
}

/// Sends the same state again if the toolkit was not applied and gpuhostd's store of toolkits has changed
/// since. A host without GPUs gets an empty state.
void DesiredPublisher::publish(const core::ClusterDesired& wanted) {
    if (!is_seen_ || asks_ || (again_ && cluster::now() < *again_))
        return;
    again_.reset();
    const core::ClusterDesired desired = has_gpus_ ? wanted : core::ClusterDesired();
    const std::string text = base::dump(core::to_json(desired));
    if (desired == published_ && (!is_pending_ || desired.toolkit.empty() || tried_ == text + store_))
        return;
    asks_ = true;
    daemon_.start(client::manager_call("SetDesiredState", {text}), {},
                  [this, desired, tried = text + store_](const base::Result<std::uint64_t>& started) {
                      asks_ = false;
                      answered(started, desired);
                      if (started)
                          tried_ = tried;
                  });
}

void DesiredPublisher::publish_driver(const std::string& driver, const std::string& scheduled) {
    if (published_.driver != driver || published_.scheduled != scheduled)
        publish({published_.toolkit, driver, scheduled});
}

void DesiredPublisher::answered(const base::Result<std::uint64_t>& started,
                                const core::ClusterDesired& desired) {
    if (!started)
        return note(started.error());
    last_error_.clear();
    if (desired.toolkit != published_.toolkit)
        log_(desired.toolkit.empty() ? "the cluster's policy no longer sets a toolkit"
                                     : "the cluster's policy sets toolkit: " + desired.toolkit);
    published_ = desired;
}

void DesiredPublisher::note(const base::Error& trouble) {
    again_ = cluster::now() + between_tries;
    if (trouble.code != Errc::Busy && std::exchange(last_error_, trouble.message) != trouble.message)
        log_("can't send gpuhostd the cluster's desired state: " + trouble.message);
}

} // namespace gpuhost
