// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/toolkit_call.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/toolkit/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(
        session, client::request_of(client::toolkit_call("Remove", {session.arguments().words()[0]})));
}

constexpr std::array examples{Example{"toolkit remove 1.17.7", "remove a version that nothing uses"}};

} // namespace

const Verb toolkit_remove_verb{
    "toolkit remove",
    "VERSION",
    "remove a version of the toolkit from the store",
    "Removes a version from the store. Refused while it is selected, while a process uses its files, and "
    "while a container exists whose runtime was started by the version's path.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
