// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(session, client::request_of(client::driver_call("Clean")));
}

} // namespace

const Verb driver_clean_verb{
    "driver clean",
    "",
    "take out of the store what is of no use any more",
    "Removes all versions older than the one in use, except those that an installed kernel boots or goes "
    "back to, that "
    "are loaded, or that are pinned ('driver pin'). Newer ones stay: they are there to be swapped to. "
    "Of all versions that are not pinned, the modules for kernels that are no longer installed go too. "
    "With --dry-run it says why each stays or goes.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
