// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/verbs_host.hpp"
#include "daemon/ctl/view.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(host, client->describe_host());
    if (session.wants_json()) {
        session.print_json(host);
        return 0;
    }
    GPUHOST_TRY(operations, client->list_operations());
    base::Json last;
    if (!operations.empty())
        last = client->describe_operation(operations.back().id).value_or(base::Json());
    session.print(render_status(session.out(), host, last, base::realtime_us()));
    return 0;
}

} // namespace

const Verb status_verb{
    "status",
    "",
    "show what runs, what is wanted and what is pending",
    "Shows the driver that is loaded, the one that is selected, the GPUs, what would have to change and why, "
    "and how the last operation ended.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
