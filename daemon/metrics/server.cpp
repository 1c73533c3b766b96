// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/server.hpp"

#include "daemon/base/clock.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <microhttpd.h>
#include <sys/socket.h>

namespace gpuhost::metrics {

using base::Errc;
using base::Result;

namespace {

constexpr unsigned most_connections = 16;
/// Memory of a connection for the request line, the headers and their parsing.
constexpr std::size_t head_limit = 8U << 10U;
constexpr Server::Time patience{
    10'000}; ///< the longest time for a connection; then a slow client is disconnected

Server::Time now() {
    return Server::Time(static_cast<Server::Time::rep>(base::monotonic_us() / 1000));
}

} // namespace

struct Server::Connection {
    int fd;
    Server::Time end;
};

struct Server::Callbacks {
    static void notice(void* self, MHD_Connection* connection, void** context,
                       MHD_ConnectionNotificationCode what) {
        auto& server = *static_cast<Server*>(self);
        if (what == MHD_CONNECTION_NOTIFY_STARTED) {
            *context = &server.connections_.emplace_back(
                Connection{MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                           now() + patience});
            return;
        }
        server.connections_.remove_if([&](const Connection& one) { return &one == *context; });
        server.last_ = now();
    }

    static MHD_Result answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                             const char*, const char*, size_t*, void**) {
        const bool reads = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
        if (std::string_view(path) != "/metrics")
            return reply(connection, MHD_HTTP_NOT_FOUND, "The metrics are at /metrics.\n");
        if (!reads)
            return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n");
        return reply(connection, MHD_HTTP_OK, static_cast<Server*>(self)->text_());
    }

    /// Sends a reply and closes the connection, so that idle clients occupy no connection.
    static MHD_Result reply(MHD_Connection* connection, unsigned status, const std::string& text) {
        MHD_Response* response = MHD_create_response_from_buffer(
            text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY); // a C library's void*
        if (response == nullptr)
            return MHD_NO;
        (void)MHD_add_response_header(response, "Connection", "close");
        (void)MHD_add_response_header(response, "Content-Type",
                                      status == MHD_HTTP_OK ? "text/plain; version=0.0.4; charset=utf-8"
                                                            : "text/plain; charset=utf-8");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
            (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
        const MHD_Result queued = MHD_queue_response(connection, status, response);
        MHD_destroy_response(response);
        return queued;
    }
};

Server::Server(Text text) : text_(std::move(text)), last_(now()) {}

Result<std::unique_ptr<Server>> Server::start(base::UniqueFd socket, Text text) {
    // The library must not block in accept(2) when a client has given up. systemd passes blocking sockets.
    if (::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0)
        return base::fail_errno("the listening socket", errno);
    std::unique_ptr<Server> server(new Server(std::move(text)));
    server->daemon_ =
        MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &Callbacks::answer, server.get(),
                         MHD_OPTION_LISTEN_SOCKET, socket.release(),     // closed by the daemon
                         MHD_OPTION_STRICT_FOR_CLIENT, 1,                //
                         MHD_OPTION_CONNECTION_LIMIT, most_connections,  //
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, head_limit, //
                         MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::notice, server.get(), MHD_OPTION_END);
    if (server->daemon_ == nullptr)
        return base::fail(Errc::Failed, "libmicrohttpd does not start on the listening socket");
    return server;
}

Server::~Server() {
    if (daemon_ != nullptr)
        MHD_stop_daemon(daemon_);
}

int Server::descriptor() const {
    return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

std::optional<Server::Time> Server::due() const {
    const auto ends_sooner = [](const Connection& a, const Connection& b) { return a.end < b.end; };
    std::optional<Time> due;
    if (MHD_UNSIGNED_LONG_LONG left = 0; MHD_get_timeout(daemon_, &left) == MHD_YES)
        due = now() + Time(left);
    if (!connections_.empty())
        due = std::min(due.value_or(Time::max()),
                       std::min_element(connections_.begin(), connections_.end(), ends_sooner)->end);
    return due;
}

void Server::turn() {
    for (Connection& connection : connections_)
        if (connection.end <= now()) {
            (void)::shutdown(connection.fd, SHUT_RDWR);
            connection.end = now() + patience;
        }
    // After a run of MHD has freed a connection's slot, only the next run accepts a waiting connection. So
    // this repeats the run until a run frees no slot.
    std::size_t before = 0;
    do {
        before = connections_.size();
        (void)MHD_run(daemon_);
    } while (connections_.size() < before);
}

Server::Time Server::idle() const {
    return connections_.empty() ? now() - last_ : Time(0);
}

} // namespace gpuhost::metrics
