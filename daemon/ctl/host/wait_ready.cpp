// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/ctl/cli/deadline.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/host/verbs.hpp"
#include "daemon/ctl/host/verdict.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace gpuhost::ctl {
namespace {

using base::Result;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr Option converged_option{
    "converged", {}, "succeed once container runtimes and the kubelet may start, even if the host is not OK"};
constexpr std::array options{converged_option, option::timeout};

constexpr milliseconds retry_interval{1000};

enum class Answer { Ready, NotYet, None };

/// Returns true if gpuhostd has finished its automatic work and no operation runs.
Result<bool> is_quiet(client::Client& client) {
    GPUHOST_TRY(host, client.describe_host());
    return base::bool_or(host, "ready", false) && !base::member(host, "operation").is_number();
}

/// Queries gpuhostd, which may not run yet, because at boot it starts in parallel with this program. It may
/// also exit between the two queries. If a query fails, the wait continues, because otherwise units ordered
/// after this program would start too early.
Result<Answer> ask(client::Client& client, bool converged) {
    GPUHOST_TRY(running, client.running());
    if (!running)
        return Answer::NotYet;
    const auto ready = converged ? client.ready() : is_quiet(client);
    if (!ready)
        return Answer::None;
    return *ready ? Answer::Ready : Answer::NotYet;
}

Result<int> print_verdict(const Session& session, client::Client& client) {
    GPUHOST_TRY(host, client.describe_host());
    const Verdict verdict = verdict_of(host, base::Json());
    if (verdict.ok)
        return 0;
    session.warn(render_verdict(session.err(), verdict));
    return not_ok_exit_status;
}

/// Returns how long to wait for an event: until the deadline, or until the next query after a failed one.
/// nullopt: indefinitely.
std::optional<milliseconds> patience(const Deadline& deadline, Answer answer) {
    const std::optional<milliseconds> left = time_left(deadline);
    return answer == Answer::None ? std::min(left.value_or(retry_interval), retry_interval) : left;
}

Result<int> run(Session& session) {
    GPUHOST_TRY(deadline, deadline_of(session.arguments()));
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    const bool converged = session.arguments().has(converged_option);
    for (;;) {
        GPUHOST_TRY(answer, ask(*client, converged));
        if (answer == Answer::Ready)
            return converged ? 0 : print_verdict(session, *client);
        GPUHOST_TRY(event, client->wait(patience(deadline, answer), -1));
        if (event == client::Client::Event::Timeout && deadline && steady_clock::now() >= *deadline)
            return base::fail(base::Errc::Timeout,
                              "the host is not ready after " + *session.arguments().value(option::timeout),
                              "Show what is pending: gpuhostctl status.");
    }
}

constexpr std::array examples{
    Example{"wait-ready --timeout=5min", "wait until the host is OK, at most five minutes"}};

} // namespace

const Verb wait_ready_verb{
    "wait-ready",
    "",
    "wait until gpuhostd has finished its work, and check that the host is OK",
    "Waits until gpuhostd has finished its own work and no operation runs. It succeeds if the host is OK; "
    "otherwise it prints the verdict of status and exits with 3. It also waits for the daemon to start. "
    "With --converged it only waits until container runtimes and the kubelet may start.",
    0,
    0,
    options,
    run,
    examples,
};

} // namespace gpuhost::ctl
