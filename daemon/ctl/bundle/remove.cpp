// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/bundle_call.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::dry_run, option::no_wait, option::json};

base::Result<int> run(Session& session) {
    return run_operation(session,
                         client::request_of(client::bundle_call("Remove", {session.arguments().words()[0]})));
}

constexpr std::array examples{
    Example{"bundle remove site", "remove a bundle, and the blobs that only it has"}};

} // namespace

const Verb bundle_remove_verb{
    "bundle remove",
    "NAME",
    "remove a bundle from the store",
    "Removes a bundle and the blobs that no other bundle owns.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
