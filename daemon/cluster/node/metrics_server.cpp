// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/node/metrics_server.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace gpuhost::cluster {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

constexpr unsigned most_connections = 16;
/// Memory of a connection for the request line, the headers and their parsing.
constexpr std::size_t head_limit = 8U << 10U;
constexpr Time patience{10'000}; ///< the longest time for a connection; then a slow client is disconnected

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

Result<Address> parse_address(const std::string& text) {
    const auto wrong = [&text] {
        return base::fail(
            Errc::InvalidArgument, "'" + text + "' is not a valid address to listen on",
            "Write MetricsListen= in section [Cluster] of gpuhostd.conf(5) as 127.0.0.1:9835 or "
            "[::]:9835.");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos)
        return wrong();
    const auto port = base::parse_uint(text.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535)
        return wrong();
    const auto network_port = htons(static_cast<in_port_t>(*port));
    const std::string host = text.substr(0, colon);
    Address address;
    if (base::starts_with(host, "[") && base::ends_with(host, "]")) {
        auto& ip6 = reinterpret_cast<sockaddr_in6&>(address.storage);
        ip6.sin6_family = AF_INET6;
        ip6.sin6_port = network_port;
        address.size = sizeof ip6;
        if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &ip6.sin6_addr) != 1)
            return wrong();
        return address;
    }
    auto& ip4 = reinterpret_cast<sockaddr_in&>(address.storage);
    ip4.sin_family = AF_INET;
    ip4.sin_port = network_port;
    address.size = sizeof ip4;
    if (::inet_pton(AF_INET, host.c_str(), &ip4.sin_addr) != 1)
        return wrong();
    return address;
}

Result<UniqueFd> listening(const std::string& text) {
    GPUHOST_TRY(address, parse_address(text));
    const int family = address.storage.ss_family;
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto set = [&socket](int level, int option, int value) {
        return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
    };
    // IPV6_V6ONLY is set to 0, because the default for [::] depends on the system. IP_FREEBIND: while the
    // host boots it may not have its address yet.
    const bool done =
        socket && set(SOL_SOCKET, SO_REUSEADDR, 1) && set(IPPROTO_IP, IP_FREEBIND, 1) &&
        (family != AF_INET6 || set(IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0;
    if (!done)
        return base::fail_errno("can't serve metrics at " + text, errno);
    return socket;
}

} // namespace

struct MetricsServer::Connection {
    int fd;
    Time end;
};

struct MetricsServer::Callbacks {
    static void notice(void* self, MHD_Connection* connection, void** context,
                       MHD_ConnectionNotificationCode what) {
        auto& connections = static_cast<MetricsServer*>(self)->connections_;
        if (what == MHD_CONNECTION_NOTIFY_STARTED)
            *context = &connections.emplace_back(
                Connection{MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                           now() + patience});
        else
            connections.remove_if([&](const Connection& one) { return &one == *context; });
    }

    static MHD_Result answer(void* self, MHD_Connection* connection, const char* path, const char* method,
                             const char*, const char*, size_t*, void**) {
        const bool reads = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
        if (std::string_view(path) != "/metrics")
            return reply(connection, MHD_HTTP_NOT_FOUND, "The metrics are at /metrics.\n");
        if (!reads)
            return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n");
        return reply(connection, MHD_HTTP_OK, static_cast<MetricsServer*>(self)->text_);
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

Result<std::unique_ptr<MetricsServer>> MetricsServer::listen(const std::string& address) {
    GPUHOST_TRY(socket, listening(address));
    std::unique_ptr<MetricsServer> server(new MetricsServer);
    server->daemon_ =
        MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &Callbacks::answer, server.get(),
                         MHD_OPTION_LISTEN_SOCKET, socket.release(),     // closed by the daemon
                         MHD_OPTION_STRICT_FOR_CLIENT, 1,                //
                         MHD_OPTION_CONNECTION_LIMIT, most_connections,  //
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, head_limit, //
                         MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::notice, server.get(), MHD_OPTION_END);
    if (server->daemon_ == nullptr)
        return base::fail(Errc::Failed,
                          "can't serve metrics at " + address + ": libmicrohttpd failed to start");
    return server;
}

MetricsServer::~MetricsServer() {
    if (daemon_ != nullptr)
        MHD_stop_daemon(daemon_);
}

void MetricsServer::set_text(const std::string& text) {
    text_ = text;
}

int MetricsServer::descriptor() const {
    return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

std::optional<Time> MetricsServer::due() const {
    const auto ends_sooner = [](const Connection& a, const Connection& b) { return a.end < b.end; };
    std::optional<Time> due;
    if (MHD_UNSIGNED_LONG_LONG left = 0; MHD_get_timeout(daemon_, &left) == MHD_YES)
        due = now() + Time(left);
    if (!connections_.empty())
        due = std::min(due.value_or(Time::max()),
                       std::min_element(connections_.begin(), connections_.end(), ends_sooner)->end);
    return due;
}

void MetricsServer::turn() {
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

} // namespace gpuhost::cluster
