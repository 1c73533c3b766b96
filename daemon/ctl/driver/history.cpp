// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
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
    GPUHOST_TRY(history, client->ask(client::driver_call("History")));
    if (session.wants_json())
        session.print_json(history);
    else
        session.page_list(render_history(session.out(), history, base::realtime_us()),
                          "No changes of the driver.");
    return 0;
}

constexpr std::array examples{
    Example{"driver history", "show all swaps, who requested them and how they ended"}};

} // namespace

const Verb driver_history_verb{
    "driver history",
    "",
    "list changes of the driver, newest first",
    "Lists each swap, each rollback and the changes that gpuhostd(8) made at boot, newest first. Shows the "
    "versions, the kernel, the outcome and its reason, the duration and the user. Has more changes than "
    "'gpuhostctl operation list'.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
