// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/follow.hpp"
#include "daemon/ctl/cli/password_agent.hpp"
#include "daemon/ctl/operation/verbs.hpp"

#include <array>

namespace gpuhost::ctl {
namespace {

constexpr std::array options{option::no_wait, option::json};

base::Result<void> cancel(const Session& session, client::Client& client, std::uint64_t id) {
    const PasswordAgent agent(session);
    return client.cancel(id);
}

/// Reports that the operation ended before it could be cancelled. Its changes remain, so this is an error.
int too_late(const Session& session, const base::Json& operation, std::uint64_t id) {
    if (session.wants_json())
        session.print_json(operation);
    const bool swap = base::string_or(operation, "kind", "") == "driver.swap";
    session.complain({base::Errc::Failed,
                      "operation " + std::to_string(id) + " ended before it could be cancelled",
                      swap ? "Swap back: gpuhostctl driver rollback." : ""});
    return base::info(base::Errc::Failed).exit_code;
}

base::Result<int> run(Session& session) {
    GPUHOST_TRY(id, chosen_operation(session));
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    GPUHOST_CHECK(cancel(session, *client, id));
    if (session.arguments().has(option::no_wait)) {
        print_operation_id(session, id);
        return 0;
    }
    GPUHOST_TRY(operation, follow_operation(session, id));
    const std::string state = base::string_or(operation, "state", "");
    if (state == "committed")
        return too_late(session, operation, id);
    if (state != "cancelled")
        return report_operation(session, operation);
    if (session.wants_json())
        session.print_json(operation);
    else
        session.print("operation " + std::to_string(id) + " cancelled, the host is as it was before\n");
    return 0;
}

constexpr std::array examples{Example{"operation cancel 7", "stop operation 7 and undo its steps"}};

} // namespace

const Verb operation_cancel_verb{
    "operation cancel",
    "ID",
    "stop an operation and undo its steps",
    "Stops an operation as soon as that is safe, undoes its steps, and waits until the host is as it was. "
    "Refused after the operation's point of no return. If the operation ends before it can be cancelled, "
    "nothing is undone, a message says so, and the exit status is 1.",
    1,
    1,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
