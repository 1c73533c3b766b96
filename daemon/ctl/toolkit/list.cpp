// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/client/toolkit_call.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/toolkit/verbs.hpp"
#include "daemon/ctl/toolkit/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(list, client->ask(client::toolkit_call("List")));
    if (session.wants_json())
        session.print_json(list);
    else
        session.page_list(render_toolkits(session.out(), list), "No toolkits in the store.");
    return 0;
}

constexpr std::array examples{Example{"toolkit list", "show the versions in the store"}};

} // namespace

const Verb toolkit_list_verb{
    "toolkit list",
    "",
    "list the container toolkits in the store",
    "Lists the versions of NVIDIA's container toolkit in the store, newest first, and the selected one.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
