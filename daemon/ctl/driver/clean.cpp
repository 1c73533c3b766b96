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

constexpr std::array examples{
    Example{"driver clean --dry-run", "show what would be removed, and why the rest stays"},
    Example{"driver clean", "remove it"}};

} // namespace

const Verb driver_clean_verb{
    "driver clean",
    "",
    "remove unused versions and modules from the store",
    "Removes unused versions and modules from the store. A version is removed if it is older than the one in "
    "use, and neither loaded nor pinned ('driver pin'). A version that an installed kernel boots or rolls "
    "back to stays. Newer versions stay, as targets for a swap. For all versions that are not pinned, the "
    "modules for uninstalled kernels are removed. Superseded modules are removed if no kernel boots them or "
    "rolls back to them. With --dry-run it states for each why it stays or is "
    "removed.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
