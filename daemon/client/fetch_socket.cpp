// SPDX-License-Identifier: Apache-2.0
#include "daemon/client/fetch_socket.hpp"

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace gpuhost::client {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t longest_line = 1U << 20U;
constexpr int request_ms = 10'000; ///< gpuhostctl sends its request right after it connects

} // namespace

Result<base::UniqueFd> ask_to_fetch(const std::string& path, const std::vector<std::string>& bundles) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return base::fail(Errc::InvalidArgument, "'" + path + "' is too long for the path of a socket");
    path.copy(address.sun_path, path.size());
    base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket)
        return base::fail_errno("creating a socket", errno);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        return base::fail(base::errno_error("'" + path + "'", errno)
                              .with_hint(errno == EACCES
                                             ? "Run the command as root."
                                             : "Start it: systemctl enable --now gpuhost-fetch.socket."));
    const std::string request = base::dump({{"bundles", bundles}}) + "\n";
    // The request fits the socket's buffer. If gpuhost-fetch has exited already, the caller's read reports
    // it.
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE &&
        errno != ECONNRESET)
        return base::fail_errno("gpuhost-fetch", errno);
    return socket;
}

Result<std::string> read_fetch_line(int socket, std::string& buffer, int patience_ms) {
    for (;;) {
        if (const auto end = buffer.find('\n'); end != std::string::npos) {
            std::string line = buffer.substr(0, end);
            buffer.erase(0, end + 1);
            return line;
        }
        pollfd wait{socket, POLLIN, 0};
        const int ready = ::poll(&wait, 1, patience_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return base::fail(Errc::Timeout, "timed out: no data from the other end");
        std::array<char, 4096> bytes{};
        const ssize_t n = ready < 0 ? -1 : ::recv(socket, bytes.data(), bytes.size(), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != ECONNRESET)
            return base::fail_errno("reading from the other end", errno);
        if (n <= 0)
            return base::fail(Errc::Interrupted, "gpuhost-fetch exited before it finished",
                              "See why: journalctl -u gpuhost-fetch.");
        buffer.append(bytes.data(), static_cast<std::size_t>(n));
        if (buffer.size() > longest_line)
            return base::fail(Errc::BadContent, "line too long");
    }
}

Result<std::vector<std::string>> read_fetch_request(int socket) {
    std::string buffer;
    GPUHOST_TRY(line, read_fetch_line(socket, buffer, request_ms));
    GPUHOST_TRY(request, base::parse_json(line, "the request"));
    return base::get_strings(request, "bundles");
}

} // namespace gpuhost::client
