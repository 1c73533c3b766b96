// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/password_agent.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

constexpr int start_limit_ms = 5'000;

bool somebody_could_answer(const Session& session) {
    return ::geteuid() != 0 && ::isatty(STDIN_FILENO) == 1 && !session.arguments().has("no-ask-password");
}

} // namespace

PasswordAgent::PasswordAgent(const Session& session) {
    std::array<int, 2> ends{};
    if (!somebody_could_answer(session) || ::pipe2(ends.data(), O_CLOEXEC) < 0)
        return;
    const base::UniqueFd ours(ends[0]);
    base::UniqueFd theirs(ends[1]);
    if (::fcntl(theirs.get(), F_SETFD, 0) < 0)
        return;
    const std::string fd = std::to_string(theirs.get());
    // With --fallback, the agent of the desktop asks instead, if there is one.
    std::array<const char*, 5> argv{"pkttyagent", "--notify-fd", fd.c_str(), "--fallback", nullptr};
    if (::posix_spawnp(&pid_, argv[0], nullptr, nullptr, const_cast<char**>(argv.data()), environ) != 0)
        pid_ = -1;
    // Wait until pkttyagent is registered, which it shows by closing its end of the pipe. Before that polkit
    // would refuse a call.
    theirs.reset();
    pollfd polled{ours.get(), POLLIN, 0};
    (void)::poll(&polled, 1, start_limit_ms);
}

PasswordAgent::~PasswordAgent() {
    if (pid_ < 0)
        return;
    ::kill(pid_, SIGTERM);
    ::kill(pid_, SIGCONT);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace gpuhost::ctl
