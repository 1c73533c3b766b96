// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/mounted_daemon.hpp"

#include "daemon/base/json.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

using base::fail_errno;
using base::Result;
using base::UniqueFd;

constexpr int client_fd = 3; ///< descriptor of the socket in the started gpuhostd

/// Starts gpuhostd in a session of its own: Ctrl-C ends gpuhostctl but never interrupts a change, and the
/// terminal can't stop gpuhostd's output. gpuhostd inherits stderr, where it reports what it undoes.
Result<pid_t> spawn(const std::string& directory, bool read_only, int client, int output) {
    std::string rescue = "--rescue=" + directory;
    std::string socket = "--client=" + std::to_string(client_fd);
    std::string name = "gpuhostd";
    std::string option = "--read-only";
    std::array<char*, 5> argv{name.data(), rescue.data(), socket.data(), read_only ? option.data() : nullptr,
                              nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, client, client_fd);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t pid = -1;
    const int error = ::posix_spawnp(&pid, name.c_str(), &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return base::fail(base::errno_error("starting 'gpuhostd'", error)
                              .with_hint("Add its directory to PATH. In a chroot, mount /dev."));
    return pid;
}

/// Reads the stdout of gpuhostd to its end. The text is empty if gpuhostd is ready, else it is the error
/// document.
std::string wait_for_word(int fd) {
    constexpr std::size_t limit = 64U << 10U;
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || text.size() > limit)
            return text;
        text.append(buffer.data(), static_cast<std::size_t>(n));
    }
}

} // namespace

Result<MountedDaemon> MountedDaemon::start(const std::string& directory, bool read_only) {
    std::array<int, 2> sockets{};
    std::array<int, 2> pipes{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) < 0)
        return fail_errno("socketpair", errno);
    UniqueFd ours(sockets[0]);
    UniqueFd client(sockets[1]);
    if (::pipe2(pipes.data(), O_CLOEXEC) < 0)
        return fail_errno("pipe", errno);
    const UniqueFd reader(pipes[0]);
    UniqueFd writer(pipes[1]);
    GPUHOST_TRY(pid, spawn(directory, read_only, client.get(), writer.get()));
    client.reset();
    writer.reset();
    MountedDaemon daemon(std::move(ours), pid);
    const std::string word = wait_for_word(reader.get());
    if (word.empty())
        return daemon;
    GPUHOST_TRY(error, base::parse_json(word, "gpuhostd's answer"));
    return base::fail(base::error_from_json(error));
}

MountedDaemon::~MountedDaemon() {
    socket_.reset();
    while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
        ;
}

} // namespace gpuhost::ctl
