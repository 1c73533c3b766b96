// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/deadline.hpp"
#include "daemon/ctl/session.hpp"
#include "daemon/ctl/verbs_host.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace gpuhost::ctl {
namespace {

using base::Result;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::array options{option::timeout};

constexpr milliseconds retry_interval{1000};

enum class Answer { Ready, NotYet, None };

/// The daemon may not be there yet: at boot both are started side by side. It may also go between the two
/// questions, and what it is then not able to say is no reason to stop waiting: who waits behind this would start.
Result<Answer> ask(Client& client) {
    GPUHOST_TRY(running, client.running());
    if (!running)
        return Answer::NotYet;
    const auto ready = client.ready();
    if (!ready)
        return Answer::None;
    return *ready ? Answer::Ready : Answer::NotYet;
}

/// Until something happens, or until it is time to ask again.
std::optional<milliseconds> patience(const Deadline& deadline, Answer answer) {
    const std::optional<milliseconds> left = time_left(deadline);
    return answer == Answer::None ? std::min(left.value_or(retry_interval), retry_interval) : left;
}

Result<int> run(Session& session) {
    GPUHOST_TRY(deadline, deadline_of(session.arguments()));
    GPUHOST_TRY(client, session.client());
    GPUHOST_CHECK(client->subscribe());
    for (;;) {
        GPUHOST_TRY(answer, ask(*client));
        if (answer == Answer::Ready)
            return 0;
        GPUHOST_TRY(event, client->wait(patience(deadline, answer), -1));
        if (event == Client::Event::Timeout && deadline && steady_clock::now() >= *deadline)
            return base::fail(base::Errc::Timeout,
                              "the host is not ready after " + *session.arguments().value(option::timeout),
                              "see what it waits for with: gpuhostctl status");
    }
}

} // namespace

const Verb wait_ready_verb{
    "wait-ready",
    "",
    "wait until the host has converged",
    "Returns once container runtimes and the kubelet may start: the host is as wanted, or is known not to "
    "get there without a person. Waits for the daemon too if that does not run yet.",
    0,
    0,
    options,
    run,
};

} // namespace gpuhost::ctl
