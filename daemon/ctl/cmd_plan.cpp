// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/only_option.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/verbs_host.hpp"
#include "daemon/ctl/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{only_option, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(plan, client->ask(manager_call("Plan", {only_given(session.arguments())})));
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
    "show what apply would do",
    "Compares the host with what is wanted and prints the steps between them, the reasons, and the problems "
    "that stand in the way. Changes nothing. With problems the exit status is what apply's would be.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
