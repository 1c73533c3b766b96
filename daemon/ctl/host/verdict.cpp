// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/host/verdict.hpp"

#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/cli/wrap.hpp"

#include <utility>

namespace gpuhost::ctl {

using base::Json;

Verdict verdict_of(const Json& host, const Json& operation) {
    Verdict verdict = client::verdict_of(host, operation);
    verdict.text = printable(verdict.text);
    verdict.hint = printable(verdict.hint);
    return verdict;
}

base::Result<Verdict> final_verdict(Session& session) {
    GPUHOST_CHECK(wait_until_idle(session));
    GPUHOST_TRY(client, session.client());
    GPUHOST_TRY(host, client->describe_host());
    return verdict_of(host, Json());
}

base::Result<int> run_operation_with_verdict(Session& session, const client::Request& request) {
    GPUHOST_TRY(status, run_operation(session, request));
    const Arguments& given = session.arguments();
    if (status != 0 || given.has(option::dry_run) || given.has(option::no_wait) || session.wants_json())
        return status;
    GPUHOST_TRY(client, session.client());
    const auto host = client->describe_host();
    if (!host)
        session.note("The verdict is not known: " + printable(host.error().message) + "\n");
    else if (const Json& other = base::member(*host, "operation"); other.is_number())
        session.note("Operation " + other.dump() + " runs: see gpuhostctl status.\n");
    else
        session.print(render_verdict(session.out(), verdict_of(*host, Json())));
    return status;
}

Json to_json(const Verdict& verdict) {
    return {{"ok", verdict.ok}, {"text", verdict.text}, {"hint", verdict.hint}};
}

std::string render_verdict(const Screen& screen, const Verdict& verdict) {
    const std::string lead =
        verdict.ok ? screen.paint(Style::Good, "OK:") : screen.paint(Style::Bad, "NOT OK:");
    return hanging(screen, lead + " ", verdict.text) + "\n" +
           (verdict.hint.empty()
                ? ""
                : hanging(screen, screen.paint(Style::Bold, "Hint:") + " ", verdict.hint) + "\n");
}

} // namespace gpuhost::ctl
