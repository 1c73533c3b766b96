// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/host/apply.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/document.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cluster/offer.hpp"
#include "daemon/ctl/host/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

using base::Result;

constexpr Option only_option{"only", "driver|images|mig|cdi|devices|toolkit|runtime",
                             "only this part of the host", false, true};
constexpr std::array options{only_option, option::dry_run, option::no_wait, option::json};

/// Returns the option as gpuhostd's methods expect it.
client::Options only_given(const Arguments& given) {
    const auto only = given.values(only_option);
    return only.empty() ? client::Options() : client::Options{{"only", base::join(only, " ")}};
}

/// Prints the plan. A driver that the cluster offers is its member "upgrade", because gpuhost-cluster, not
/// gpuhostd, plans its upgrade. Everyone may see the plan, so it is printed also if it cannot be checked.
Result<int> preview(Session& session, const ClusterOffer& offer, const client::Options& only) {
    const DryRun how{offer.driver, true};
    if (offer.driver.empty())
        return preview_operation(session, apply_request(only), how);
    if (!offer.rest.empty())
        return preview_operation(session, apply_request({{"only", offer.rest}}), how);
    return print_plan(session, {{"kind", "apply"},
                                {"title", "apply the configuration"},
                                {"steps", base::Json::array()},
                                {"reasons", base::Json::array()},
                                {"problems", base::Json::array()},
                                {"changes_host", true},
                                {"upgrade", offer.driver}});
}

/// Returns the exit status after a successful apply. It is not 0 if a decision of an administrator is still
/// pending.
Result<int> undecided_status(const Session& session, client::Client& client, const client::Request& request) {
    GPUHOST_TRY(plan, client.ask(request.plan));
    const base::Json& undecided = base::member(plan, "undecided");
    if (!undecided.is_object())
        return 0;
    session.complain({base::Errc::Refused, text_of(undecided, "text"), text_of(undecided, "hint")});
    return plan_exit_status(plan);
}

/// Applies the components `parts`, which are all but the driver, if they need changes.
Result<int> apply_rest(Session& session, client::Client& client, const std::string& parts) {
    const client::Request request = apply_request(client::Options{{"only", parts}});
    bool is_any = false;
    if (!parts.empty()) {
        GPUHOST_TRY(plan, client.ask(request.plan));
        is_any = !list_of(plan, "steps").empty() || !list_of(plan, "problems").empty();
    }
    if (is_any)
        return run_operation(session, request);
    if (session.wants_json() || session.arguments().has(option::no_wait))
        print_operation_id(session, 0);
    return 0;
}

Result<int> run(Session& session) {
    const client::Options only = only_given(session.arguments());
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(offer, cluster_offer(*client, only));
    if (session.arguments().has(option::dry_run))
        return preview(session, offer, only);
    if (offer.driver.empty()) {
        const client::Request request = apply_request(only);
        GPUHOST_TRY(status, run_operation(session, request));
        return status == 0 ? undecided_status(session, *client, request) : status;
    }
    GPUHOST_CHECK(request_upgrade(session, offer.driver));
    return apply_rest(session, *client, offer.rest);
}

constexpr std::array examples{
    Example{"apply --dry-run", "show the steps, the reasons and all problems; change nothing"},
    Example{"apply", "make the host match the configuration"},
    Example{"apply --only=cdi", "update only the CDI specifications of the GPUs"}};

} // namespace

client::Request apply_request(const client::Options& only) {
    return {client::manager_call("Apply"), only, client::manager_call("Plan", {only})};
}

const Verb apply_verb{
    "apply",
    "",
    "apply the configuration to this host",
    "Applies the configuration to this host, as one operation. If a step fails, all of it is undone. From "
    "the point of no return on, as when a new driver is in use, nothing is undone. The other steps still "
    "run, and the outcome is incomplete. If no driver is chosen for this host's GPUs, it applies the rest, "
    "names "
    "the versions in the store and exits with 8. If a cluster's policy wants a driver here on request only, "
    "the driver is requested instead: gpuhost-cluster upgrades the host when its turn comes. Every user may "
    "run it with --dry-run; the checks need the privilege of apply.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
