// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/client/driver_call.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/driver/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::mounted, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_CHECK(session.use_mounted(true));
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(list, client->ask(client::driver_call("List")));
    if (session.wants_json()) {
        session.print_json(list);
        return 0;
    }
    GPUHOST_TRY(loaded, client->read_text(client::driver_call("LoadedVersion")));
    session.page_list(render_drivers(session.out(), list, loaded), "No drivers in the store.");
    return 0;
}

constexpr std::array examples{
    Example{"driver list", "show the versions in the store, and the one that runs"}};

} // namespace

const Verb driver_list_verb{
    "driver list",
    "",
    "list the drivers in the store",
    "Lists the versions in the store, newest first, and the kernels that each has modules for. Marks the "
    "loaded version, the version that each kernel boots with (selected), and the version that 'driver "
    "rollback' swaps to (previous). Modules that a newer import replaced are superseded: 'driver clean' "
    "removes them when no kernel needs them.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
