// SPDX-License-Identifier: Apache-2.0
#include "kmod/device/isolated.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <exception>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Error;
using base::Json;
using base::Result;
using base::UniqueFd;

constexpr std::size_t answer_limit = 1U << 20;

Result<Json> call(const std::function<Result<Json>()>& function) {
    try {
        return function();
    } catch (const std::exception& e) {
        return base::fail(Errc::Failed, std::string("unexpected: ") + e.what());
    }
}

/// Runs in the child: calls `function`, writes its result to the pipe `fd` and exits. Does not run exit
/// handlers of the vendor's libraries.
[[noreturn]] void answer(int fd, pid_t parent, const std::function<Result<Json>()>& function) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(1);
    const auto made = call(function);
    const Json answer = made ? Json{{"value", *made}} : Json{{"error", base::to_json(made.error())}};
    ::_exit(base::write_all(fd, base::dump(answer), "answer") ? 0 : 1);
}

Error crashed(const std::string& what, int status) {
    std::string how = "exit status " + std::to_string(WEXITSTATUS(status));
    if (WIFSIGNALED(status)) {
        const char* const name = ::sigdescr_np(WTERMSIG(status));
        how = name != nullptr ? name : "signal " + std::to_string(WTERMSIG(status));
    }
    return {Errc::Failed, what + " crashed: " + how, "See the kernel's log: journalctl -k -g NVRM."};
}

} // namespace

Result<Json> run_isolated(const std::string& what, const std::function<Result<Json>()>& function) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return base::fail_errno("creating a pipe", errno);
    UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        return base::fail_errno("starting a process for " + what, errno);
    if (child == 0) {
        reading.reset();
        answer(writing.get(), parent, function);
    }
    writing.reset();
    const auto text = base::read_all(reading.get(), answer_limit, what);
    reading.reset(); // a child whose answer exceeds the limit then fails to write the rest, and exits
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    GPUHOST_TRY(read, text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return base::fail(crashed(what, status));
    GPUHOST_TRY(answer, base::parse_json(read, what));
    if (base::member(answer, "error").is_object())
        return base::fail(base::error_from_json(base::member(answer, "error")));
    return base::member(answer, "value");
}

} // namespace gpuhost::kmod
