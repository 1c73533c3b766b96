// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/view.hpp"
#include "daemon/ctl/cluster/offer.hpp"
#include "daemon/ctl/host/verbs.hpp"
#include "daemon/ctl/host/verdict.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::json};

base::Result<int> run(Session& session) {
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(host, client->describe_host());
    GPUHOST_TRY(operations, client->list_operations());
    base::Json last;
    if (const auto* row = client::last_operation(operations))
        last = client->describe_operation(row->id).value_or(base::Json());
    const Verdict verdict = verdict_of(host, last);
    if (session.wants_json()) {
        host["verdict"] = to_json(verdict);
        session.print_json(host);
    } else {
        host["cluster"]["upgrade"] = upgrade_by_cluster();
        session.page(render_verdict(session.out(), verdict) +
                     render_status(session.out(), host, last, base::realtime_us(), verdict));
    }
    return verdict.ok ? 0 : not_ok_exit_status;
}

constexpr std::array examples{Example{"status", "show whether this host is OK, and why not"},
                              Example{"status --json=short", "the same for programs, on one line"}};

} // namespace

const Verb status_verb{
    "status",
    "",
    "show whether this host is OK, and why not",
    "Shows whether this host is OK. The first line begins with OK:, or with NOT OK: and the reason. Then the "
    "second line is a hint, the first thing to do. The other lines show the loaded and the selected driver, "
    "the GPUs, pending changes "
    "with their reasons, and the last operation. If the host is not OK the exit status is 3.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
