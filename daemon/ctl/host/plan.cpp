// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cluster/offer.hpp"
#include "daemon/ctl/host/only_option.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{only_option, option::json};

/// Returns the plan. A driver that the cluster offers is the plan's member "upgrade", because
/// gpuhost-cluster, not gpuhostd, plans its upgrade.
base::Result<base::Json> plan_of(client::Client& client, const client::Options& only) {
    GPUHOST_TRY(offer, cluster_offer(client, only));
    if (offer.driver.empty())
        return client.ask(client::manager_call("Plan", {only}));
    base::Json plan{{"kind", "apply"}, {"title", "apply the configuration"}, {"steps", base::Json::array()}};
    if (!offer.rest.empty()) {
        GPUHOST_TRY(rest, client.ask(client::manager_call("Plan", {client::Options{{"only", offer.rest}}})));
        plan = std::move(rest);
    }
    plan["upgrade"] = offer.driver;
    return plan;
}

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(plan, plan_of(*client, only_given(session.arguments())));
    if (session.wants_json())
        session.print_json(plan);
    else
        session.print(render_plan(session.out(), plan));
    return plan_exit_status(plan);
}

} // namespace

const Verb plan_verb{
    "plan",
    "",
    "show the steps of apply",
    "Shows the steps of apply, the reasons, and any problems. Changes nothing. With problems, or with a "
    "driver still to choose, the exit status is the one of apply.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
