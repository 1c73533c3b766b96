// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/operation/verbs.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::mounted, option::json};

base::Json as_json(const std::vector<client::OperationRow>& rows) {
    base::Json list = base::Json::array();
    for (const client::OperationRow& row : rows)
        list.push_back({{"id", row.id},
                        {"kind", row.kind},
                        {"state", row.state},
                        {"title", row.title},
                        {"began_us", row.began_us},
                        {"ended_us", row.ended_us}});
    return list;
}

base::Result<int> run(Session& session) {
    GPUHOST_CHECK(session.use_mounted(true));
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(rows, client->list_operations());
    std::reverse(rows.begin(), rows.end()); // gpuhostd lists the newest last
    if (session.wants_json())
        session.print_json(as_json(rows));
    else
        session.page_list(render_operations(session.out(), rows, base::realtime_us()), "No operations.");
    return 0;
}

constexpr std::array examples{Example{"operation list", "show what was changed on this host"}};

} // namespace

const Verb operation_list_verb{
    "operation list",
    "",
    "list operations, newest first",
    "Lists the operations of this host and their outcomes, newest first.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
