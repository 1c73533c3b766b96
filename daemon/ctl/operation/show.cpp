// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/operation/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::mounted, option::json};

base::Result<int> run(Session& session) {
    GPUHOST_CHECK(session.use_mounted(true));
    GPUHOST_TRY(id, chosen_operation(session));
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(operation, client->describe_operation(id));
    if (session.wants_json())
        session.print_json(operation);
    else
        session.page(render_operation(session.out(), operation, base::realtime_us()));
    return 0;
}

constexpr std::array examples{Example{"operation show", "show the newest operation and its steps"},
                              Example{"operation show 7", "show operation 7"}};

} // namespace

const Verb operation_show_verb{
    "operation show",
    "[ID]",
    "show one operation with its steps",
    "Shows one operation, by default the newest: the user, its steps, its outcome and the reason.",
    0,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
