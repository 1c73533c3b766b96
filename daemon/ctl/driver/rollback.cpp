// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/holders.hpp"
#include "daemon/ctl/driver/verbs.hpp"
#include "daemon/ctl/host/verdict.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::holders, option::holder_timeout, option::dry_run, option::no_wait,
                             option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(policy, holder_options(session.arguments()));
    return run_operation_with_verdict(session, client::request_of(client::driver_call("Rollback"), policy));
}

constexpr std::array examples{Example{"driver rollback", "return to the previous driver"}};

} // namespace

const Verb driver_rollback_verb{
    "driver rollback",
    "",
    "swap to the driver that was selected before",
    "Swaps to the driver that was selected for the running kernel before the current one. Works like 'driver "
    "swap'.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
