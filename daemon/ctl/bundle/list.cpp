// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/client/bundle_call.hpp"
#include "daemon/ctl/bundle/verbs.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(list, client->ask(client::bundle_call("List")));
    if (session.wants_json())
        session.print_json(list);
    else
        session.page_list(render_bundles(session.out(), list), "No bundles.");
    return 0;
}

constexpr std::array examples{Example{"bundle list", "show the bundles on this host"}};

} // namespace

const Verb bundle_list_verb{
    "bundle list",
    "",
    "list the bundles on this host",
    "Lists the bundles on this host with generation, number of images, size in the store and signer. Also "
    "lists the distributions whose packages this host imported, and the names of plain files.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
