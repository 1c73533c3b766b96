// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(session,
                         client::request_of(client::driver_call("Remove", {session.arguments().words()[0]})));
}

constexpr std::array examples{Example{"driver remove 535.261.03", "remove a version that nothing uses"}};

} // namespace

const Verb driver_remove_verb{
    "driver remove",
    "VERSION",
    "remove a version from the store",
    "Removes all files of one version from the store, including unreadable ones. Refused while an installed "
    "kernel boots with it, while it is loaded, and while a process uses its files.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
