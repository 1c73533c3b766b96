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
    return run_operation_with_verdict(
        session, client::request_of(client::driver_call("Swap", {session.arguments().words()[0]}), policy));
}

constexpr std::array examples{
    Example{"driver swap 550.163.01 --dry-run", "show the steps and all obstacles; change nothing"},
    Example{"driver swap 550.163.01", "change the running driver"},
    Example{"driver swap 550.163.01 --holders=terminate", "end the processes that use the driver first"}};

} // namespace

const Verb driver_swap_verb{
    "driver swap",
    "VERSION",
    "change the running driver without a reboot",
    "Changes the running driver without a reboot. All checks run first, while the host serves, and all "
    "problems are listed at once. Then the swap stops the driver's clients, unloads its modules, loads those "
    "of VERSION, switches the host to its libraries, tools and firmware, and validates the result. If a step "
    "fails, the steps before it are undone and the previous driver runs again. The version must be in the "
    "store, with modules for the running kernel. After a success, prints the verdict of status, but not "
    "with --json, --no-wait or --dry-run. The exit status is that of the operation, also if it is NOT OK.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
