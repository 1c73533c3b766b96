// SPDX-License-Identifier: Apache-2.0
#include "images/host/crio_reload.hpp"

#include "daemon/base/clock.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::Root;

namespace {

constexpr std::string_view reload_pending = "/run/gpuhost/crio.reload-pending";

/// Returns the process ID of the CRI-O that answers on its socket `path`; 0 if no process listens. Waits for
/// an answer, because SIGHUP terminates a CRI-O that is still starting: it listens long before it handles the
/// signal. The request is HTTP/1, which CRI-O answers on the same socket as gRPC. Fails with Timeout without
/// an answer within `patience`.
Result<pid_t> serving_process(const std::string& path, std::chrono::milliseconds patience) {
    constexpr std::string_view request = "GET /info HTTP/1.0\r\nHost: crio\r\n\r\n";
    const auto silent =
        base::fail(Errc::Timeout, path + ": CRI-O does not respond, and cannot be notified of changed files",
                   "Check that CRI-O responds, then run 'gpuhostctl image pull' to notify it again.");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || path.size() >= sizeof address.sun_path)
        return silent;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? Result<pid_t>(0) : silent;
    ucred peer{};
    socklen_t size = sizeof peer;
    pollfd answer{fd.get(), POLLIN, 0};
    char byte = 0;
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != ssize_t{request.size()} ||
        ::poll(&answer, 1, static_cast<int>(patience.count())) != 1 || ::recv(fd.get(), &byte, 1, 0) != 1 ||
        ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 1)
        return silent;
    return peer.pid;
}

} // namespace

std::uint64_t CrioReload::marked_us(const Root& root) {
    const auto st = root.stat(reload_pending);
    return st ? base::modified_us(*st) : 0;
}

Result<CrioReload> CrioReload::begin(const Root& root) {
    GPUHOST_TRY(fd, root.open_file(crio_directory, O_RDONLY | O_DIRECTORY));
    if (::flock(fd.get(), LOCK_EX) < 0)
        return base::fail(Errc::Failed,
                          "can't lock '" + std::string(crio_directory) + "': " + std::strerror(errno));
    return CrioReload(root, std::move(fd));
}

Result<void> CrioReload::mark() const {
    GPUHOST_CHECK(root_->make_directories("/run/gpuhost"));
    return root_->write_atomic(reload_pending, "");
}

/// If CRI-O does not listen, keeps the mark and sends nothing. CRI-O may be starting and may have read the
/// old files already; a later call signals it.
Result<void> CrioReload::notify(std::chrono::milliseconds patience) const {
    if (!root_->exists(reload_pending))
        return {};
    GPUHOST_TRY(pid, serving_process(root_->host_path(crio_socket), patience));
    if (pid == 0)
        return {};
    if (::kill(pid, SIGHUP) < 0)
        return base::fail(Errc::Failed, std::string("can't signal CRI-O: ") + std::strerror(errno));
    return root_->remove(reload_pending);
}

} // namespace gpuhost::images
