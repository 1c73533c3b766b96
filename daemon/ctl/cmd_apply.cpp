// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cluster_offer.hpp"
#include "daemon/ctl/document.hpp"
#include "daemon/ctl/follow.hpp"
#include "daemon/ctl/only_option.hpp"
#include "daemon/ctl/password_agent.hpp"
#include "daemon/ctl/verbs_host.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

using base::Result;

constexpr std::array options{only_option, option::dry_run, option::no_wait, option::json};

Request request_of_only(const Options& only) {
    return {manager_call("Apply"), only, manager_call("Plan", {only})};
}

Result<void> ask_for_upgrade(Session& session, Client& client, const std::string& version) {
    const bool dry_run = session.arguments().has(option::dry_run);
    if (!dry_run) {
        const PasswordAgent agent(session);
        GPUHOST_CHECK(client.ask(manager_call("RequestUpgrade", {version})));
    }
    session.note("gpuhost-cluster " + std::string(dry_run ? "would upgrade" : "upgrades") +
                 " this host to driver " + version + " when its turn comes" +
                 (dry_run ? "" : "; follow it with: gpuhostctl cluster status") + "\n");
    return {};
}

/// What is beside the driver, if anything.
Result<int> apply_rest(Session& session, Client& client, const std::string& parts) {
    const Request request = request_of_only(Options{{"only", parts}});
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
    const Options only = only_given(session.arguments());
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(offer, cluster_offer(*client, only));
    if (offer.driver.empty())
        return run_operation(session, request_of_only(only));
    GPUHOST_CHECK(ask_for_upgrade(session, *client, offer.driver));
    return apply_rest(session, *client, offer.rest);
}

} // namespace

const Verb apply_verb{
    "apply",
    "",
    "make the host what is wanted",
    "Does what plan shows, as one operation: all of it, or nothing if a step fails. A driver that a "
    "cluster's policy "
    "wants here on request alone is asked for instead: gpuhost-cluster upgrades the host, as it upgrades any "
    "other.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
