// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/socket.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace gpuhost::rpc {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

constexpr int backlog = 64;

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return base::fail(Errc::InvalidArgument, "'" + path + "' is too long for a socket",
                          "Use a path of at most 107 bytes.");
    std::copy(path.begin(), path.end(), address.sun_path);
    return address;
}

Result<UniqueFd> make_socket() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return base::fail_errno("creating a socket", errno);
    return fd;
}

const sockaddr* any(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

Result<void> remove_stale(const std::string& path) {
    struct stat st {};
    if (::lstat(path.c_str(), &st) < 0)
        return errno == ENOENT ? Result<void>() : base::fail_errno(path, errno);
    if (!S_ISSOCK(st.st_mode))
        return base::fail(Errc::AlreadyExists, path + ": not a socket", "Remove this file.");
    if (const auto connected = connect_to(path); connected || connected.error().code == Errc::Busy)
        return base::fail(Errc::AlreadyExists, path + ": another process listens on this socket",
                          "Find it with 'ss -xlp', and stop it.");
    if (::unlink(path.c_str()) < 0 && errno != ENOENT)
        return base::fail_errno("removing " + path, errno);
    return {};
}

} // namespace

Result<ListeningSocket> ListeningSocket::make(std::string path) {
    GPUHOST_TRY(address, address_of(path));
    GPUHOST_CHECK(remove_stale(path));
    GPUHOST_TRY(fd, make_socket());
    // The file that bind() makes gets the mode of the socket's inode, so it never has another one.
    if (::fchmod(fd.get(), 0600) < 0)
        return base::fail_errno("changing the mode of a socket", errno);
    if (::bind(fd.get(), any(address), sizeof address) < 0)
        return base::fail_errno("binding " + path, errno);
    ListeningSocket made(std::move(fd), std::move(path));
    if (::lstat(made.path_.c_str(), &made.file_) < 0)
        return base::fail_errno(made.path_, errno);
    if (::listen(made.get(), backlog) < 0)
        return base::fail_errno("listening on " + made.path_, errno);
    return made;
}

ListeningSocket::~ListeningSocket() {
    struct stat st {};
    if (fd_ && ::lstat(path_.c_str(), &st) == 0 && st.st_ino == file_.st_ino && st.st_dev == file_.st_dev)
        (void)::unlink(path_.c_str());
}

Result<Peer> peer_of(int fd) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return base::fail_errno("reading a client's credentials", errno);
    return Peer{credentials.pid, credentials.uid};
}

Result<UniqueFd> connect_to(const std::string& path) {
    GPUHOST_TRY(address, address_of(path));
    GPUHOST_TRY(fd, make_socket());
    if (::connect(fd.get(), any(address), sizeof address) == 0)
        return std::move(fd);
    if (errno == EAGAIN)
        return base::fail(Errc::Busy, "connecting to " + path + ": too many connections wait there");
    return base::fail_errno("connecting to " + path, errno);
}

} // namespace gpuhost::rpc
