// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/process.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::base {
namespace {

constexpr std::chrono::seconds time_to_end{5}; ///< for a process to exit after SIGTERM or SIGKILL
constexpr std::string_view search_path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (std::string& s : strings)
        result.push_back(s.data());
    result.push_back(nullptr);
    return result;
}

/// posix_spawn's two option objects, destroyed on every path.
struct SpawnOptions {
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
    SpawnOptions() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~SpawnOptions() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    SpawnOptions(const SpawnOptions&) = delete;
    SpawnOptions& operator=(const SpawnOptions&) = delete;
};

/// `errors`: for stderr; -1: as the command says.
Result<pid_t> spawn(const Command& command, int output, int errors = -1) {
    std::vector<std::string> arguments = command.argv;
    std::vector<std::string> environment = command.environment;
    environment.emplace_back(search_path);
    environment.emplace_back("LC_ALL=C");
    SpawnOptions options;
    posix_spawn_file_actions_addopen(&options.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&options.actions, output, STDOUT_FILENO);
    if (errors >= 0)
        posix_spawn_file_actions_adddup2(&options.actions, errors, STDERR_FILENO);
    else if (command.drop_errors)
        posix_spawn_file_actions_addopen(&options.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&options.actions, output, STDERR_FILENO);
    if (!command.directory.empty())
        posix_spawn_file_actions_addchdir_np(&options.actions, command.directory.c_str());
    sigset_t none;
    sigemptyset(&none);
    sigset_t all_default;
    sigemptyset(&all_default);
    sigaddset(&all_default, SIGPIPE);
    posix_spawnattr_setsigmask(&options.attributes, &none);
    posix_spawnattr_setsigdefault(&options.attributes, &all_default);
    posix_spawnattr_setpgroup(&options.attributes,
                              0); // a process group of its own, all of which the deadline ends
    posix_spawnattr_setflags(&options.attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = -1;
    const std::string& program = command.program.empty() ? arguments.front() : command.program;
    const int error = ::posix_spawnp(&pid, program.c_str(), &options.actions, &options.attributes,
                                     pointers(arguments).data(), pointers(environment).data());
    if (error != 0)
        return fail_errno("starting '" + command.argv.front() + "'", error);
    return pid;
}

class LineSplitter {
  public:
    explicit LineSplitter(const Command& command) : command_(command) {}

    void add(std::string_view chunk, std::string& output) {
        output.append(
            chunk.substr(0, command_.output_limit - std::min(output.size(), command_.output_limit)));
        if (!command_.on_line)
            return;
        for (const char c : chunk) {
            if (c == '\n')
                flush();
            else if (line_.size() < max_line)
                line_ += c;
        }
    }
    void flush() {
        if (command_.on_line && !line_.empty())
            command_.on_line(line_);
        line_.clear();
    }

  private:
    static constexpr std::size_t max_line = 4096;
    const Command& command_;
    std::string line_;
};

using Clock = std::chrono::steady_clock;

enum class Ending { Closed, Deadline, Interrupted };

/// Reads until all writers have closed the pipe, the deadline has expired, or `command.interrupt` is
/// readable.
Ending collect(int fd, const Command& command, Clock::time_point deadline, std::string& output) {
    LineSplitter lines(command);
    std::array<char, 8192> buffer{};
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0)
            return Ending::Deadline;
        std::array<pollfd, 2> polls{pollfd{fd, POLLIN, 0}, pollfd{command.interrupt, POLLIN, 0}};
        const int ready = ::poll(polls.data(), polls.size(),
                                 static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000)));
        if (ready < 0 && errno != EINTR)
            return Ending::Deadline;
        if (ready <= 0)
            continue;
        if (polls[1].revents != 0)
            return Ending::Interrupted;
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n == 0) {
            lines.flush();
            return Ending::Closed;
        }
        if (n > 0)
            lines.add({buffer.data(), static_cast<std::size_t>(n)}, output);
    }
}

/// Waits for the exit of a process. A process may exit long after it has closed its output. Returns its wait
/// status; nullopt if the deadline has expired.
std::optional<int> wait_until(pid_t pid, Clock::time_point deadline) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    constexpr std::int64_t without_pidfd = 5; // ms; a sandbox may forbid pidfds
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return status;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0)
            return std::nullopt;
        pollfd end{process.get(), POLLIN, 0};
        ::poll(&end, 1,
               static_cast<int>(std::min<std::int64_t>(left.count(), process ? 1'000'000 : without_pidfd)));
    }
}

} // namespace

Result<Finished> run(const Command& command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return fail_errno("pipe", errno);
    UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const UniqueFd errors(command.separate_errors ? ::memfd_create("stderr", MFD_CLOEXEC) : -1);
    if (command.separate_errors && !errors)
        return fail_errno("memfd", errno);
    GPUHOST_TRY(pid, spawn(command, writer.get(), errors.get()));
    writer.reset();

    Finished finished;
    auto deadline = Clock::now() + command.deadline;
    const Ending ending = collect(reader.get(), command, deadline, finished.output);
    if (ending == Ending::Interrupted) {
        ::kill(-pid, SIGTERM); // many programs first remove their locks and files
        deadline = std::min(deadline, Clock::now() + time_to_end);
    }
    auto status = ending == Ending::Deadline ? std::nullopt : wait_until(pid, deadline);
    if (!status) {
        finished.timed_out = true;
        ::kill(-pid, SIGKILL);
        // A process that is blocked in a driver exits only later. It is then reaped by the process that
        // inherits it.
        status = wait_until(pid, Clock::now() + time_to_end).value_or(SIGKILL);
    }
    if (const off_t size = errors ? ::lseek(errors.get(), 0, SEEK_END) : 0; size > 0)
        finished.errors =
            read_at(errors.get(), 0, std::min(static_cast<std::size_t>(size), command.output_limit), "stderr")
                .value_or("");
    finished.exit_status = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
    return finished;
}

Result<Running> Running::start(const Command& command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return fail_errno("pipe", errno);
    UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    if (::fcntl(reader.get(), F_SETFL, O_NONBLOCK) < 0)
        return fail_errno("pipe", errno);
    GPUHOST_TRY(pid, spawn(command, writer.get()));
    return Running(std::move(reader), pid);
}

Running::~Running() {
    if (pid_ < 0)
        return;
    ::kill(-pid_, SIGTERM);
    if (wait_until(pid_, Clock::now() + time_to_end))
        return;
    ::kill(-pid_, SIGKILL);
    (void)wait_until(pid_, Clock::now() + time_to_end);
}

} // namespace gpuhost::base
