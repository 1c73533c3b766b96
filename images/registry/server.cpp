// SPDX-License-Identifier: Apache-2.0
#include "images/registry/server.hpp"

#include "daemon/base/clock.hpp"
#include "images/registry/client_certificate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gpuhost::images {

using base::Errc;
using base::Result;
using base::UniqueFd;

namespace {

/// In bytes. Smaller blobs are sent together with the header. sendfile(2) would send them in a second packet,
/// which wakes the client a second time.
constexpr std::uint64_t most_copied = 8U << 10U;
constexpr std::size_t encrypted_block = 64U << 10U; ///< bytes that are read from a file at once for TLS
constexpr std::ptrdiff_t connections_of_a_host = 32;
/// Bytes of memory for one connection: the request's first line and headers, and the library's data about
/// them.
constexpr std::size_t head_limit = 16U << 10U;

/// GnuTLS' "NORMAL", but only TLS 1.3 and 1.2: peers are hosts of the same site and need no older version.
constexpr const char* tls_priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

std::string_view header(MHD_Connection* connection, const char* name) {
    const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

bool has_body(MHD_Connection* connection) {
    const std::string_view length = header(connection, "Content-Length");
    return !header(connection, "Transfer-Encoding").empty() || (!length.empty() && length != "0");
}

/// Reports whether a request has two Host headers. RFC 9112 requires servers to refuse it, since a proxy and
/// the server may each use a different one of the two.
bool has_two_hosts(MHD_Connection* connection) {
    unsigned hosts = 0;
    const auto count = [](void* self, MHD_ValueKind, const char* name, const char*) {
        *static_cast<unsigned*>(self) += ::strcasecmp(name, "Host") == 0 ? 1U : 0U;
        return MHD_YES;
    };
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &hosts);
    return hosts > 1;
}

/// Copies a body of at most most_copied bytes from the answer's file to its text. Returns false if the body
/// is larger or cannot be read, for example because the file was truncated. The caller then sends the file
/// itself; if the file ends early, the connection is closed.
bool copy_small_file(RegistryAnswer& answer) {
    if (!answer.file || answer.part.length > most_copied)
        return false;
    answer.text.resize(static_cast<std::size_t>(answer.part.length));
    const ssize_t got = ::pread(answer.file.get(), answer.text.data(), answer.text.size(),
                                static_cast<off_t>(answer.part.first));
    return got == static_cast<ssize_t>(answer.text.size());
}

/// A file that is sent over TLS, with callbacks for libmicrohttpd. The library's own reader reads only 4 KiB
/// at a time, a quarter of a TLS record.
struct EncryptedFile {
    UniqueFd fd;
    std::uint64_t first;

    static ssize_t read(void* self, std::uint64_t position, char* buffer, std::size_t most) {
        const auto& file = *static_cast<EncryptedFile*>(self);
        const ssize_t got = ::pread(file.fd.get(), buffer, most, static_cast<off_t>(file.first + position));
        // 0 is an error too: the library does not call this at the end of the body.
        return got > 0 ? got : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    static void forget(void* self) {
        std::unique_ptr<EncryptedFile>(static_cast<EncryptedFile*>(self)).reset();
    }
};

MHD_Response* file_response(RegistryAnswer& answer, bool encrypted) {
    const std::uint64_t length = answer.length();
    if (!encrypted) {
        MHD_Response* response =
            MHD_create_response_from_fd_at_offset64(length, answer.file.get(), answer.part.first);
        if (response != nullptr)
            (void)answer.file.release(); // owned by the response
        return response;
    }
    auto file = std::make_unique<EncryptedFile>(EncryptedFile{std::move(answer.file), answer.part.first});
    MHD_Response* response = MHD_create_response_from_callback(length, encrypted_block, &EncryptedFile::read,
                                                               file.get(), &EncryptedFile::forget);
    if (response != nullptr)
        (void)file.release(); // owned by the response
    return response;
}

MHD_Response* response_of(RegistryAnswer& answer, bool encrypted) {
    if (copy_small_file(answer))
        answer.file.reset();
    MHD_Response* response =
        answer.file
            ? file_response(answer, encrypted)
            : MHD_create_response_from_buffer(answer.text.size(), answer.text.data(), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr)
        return nullptr;
    // For status 304 the library would send Content-Length: 0, which RFC 9110 allows only for empty content.
    if (answer.status == MHD_HTTP_NOT_MODIFIED) {
        (void)MHD_set_response_options(response, MHD_RF_INSANITY_HEADER_CONTENT_LENGTH, MHD_RO_END);
        (void)MHD_add_response_header(response, "Content-Length", std::to_string(answer.part.length).c_str());
    }
    for (const auto& [name, value] : answer.headers)
        (void)MHD_add_response_header(response, name.c_str(), value.c_str());
    return response;
}

} // namespace

std::string peer_address(const sockaddr_storage& address) {
    const auto text = [](const auto& bytes, std::size_t count) {
        return std::string(reinterpret_cast<const char*>(&bytes), count);
    };
    if (address.ss_family == AF_INET)
        return text(reinterpret_cast<const sockaddr_in&>(address).sin_addr, sizeof(in_addr));
    if (address.ss_family != AF_INET6)
        return {};
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const std::string all = text(six, sizeof six);
    return IN6_IS_ADDR_V4MAPPED(&six) ? all.substr(sizeof six - sizeof(in_addr)) : all;
}

std::string peer_network(const sockaddr_storage& address) {
    const std::string all = peer_address(address);
    return all.substr(0, std::min(all.size(), sizeof(in6_addr) / 2));
}

struct RegistryServer::Connection {
    int fd = -1;
    std::string address; ///< peer_address() of the client; empty without TLS
    std::string network; ///< peer_network() of the client; empty without TLS
    /// CLOCK_MONOTONIC time since which the connection waits for a complete request; 0 while a request is
    /// answered.
    std::atomic<std::uint64_t> waits_since_us = 0;
    std::atomic<bool> answered = false; ///< at least one request was answered
    std::atomic<bool> known = false;    ///< the client's certificate was found valid; only with TLS
    /// end() was called; the connection stays in the list until the library reports its end.
    bool ended = false;
    std::string target;
    std::uint64_t length = 0; ///< bytes of the body of the current answer

    void end() {
        ended = true;
        (void)::shutdown(fd, SHUT_RDWR);
    }
};

struct RegistryServer::Callbacks {
    static Connection* of(MHD_Connection* connection) {
        const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        return info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
    }

    static void notice(void* self, MHD_Connection* connection, void** context,
                       MHD_ConnectionNotificationCode what) {
        auto& server = *static_cast<RegistryServer*>(self);
        const std::lock_guard lock(server.mutex_);
        if (what == MHD_CONNECTION_NOTIFY_STARTED) {
            Connection& made = server.connections_.emplace_back();
            made.fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
            made.waits_since_us = base::monotonic_us();
            *context = &made;
            server.service_.metrics().add_connections(1);
            server.limit_peer(made);
            server.make_room(made);
            return;
        }
        server.connections_.remove_if([&](const Connection& one) { return &one == *context; });
        server.last_us_ = base::monotonic_us();
        server.service_.metrics().add_connections(-1);
    }

    /// Returns the error with which a request is refused before the service sees it; nothing if it is not
    /// refused.
    static std::optional<RegistryError> objection(const RegistryServer& server, MHD_Connection* connection,
                                                  Connection& known) {
        if (has_two_hosts(connection))
            return RegistryError{RegistryErrorCode::Unsupported, 400, "more than one Host header"};
        if (!server.keys_ || known.known)
            return {};
        const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        std::string why = info == nullptr ? "no TLS" : client_objection(info->tls_session);
        known.known = why.empty();
        if (known.known)
            return {};
        return RegistryError{RegistryErrorCode::Denied, 403, std::move(why)};
    }

    static RegistryAnswer ask(RegistryServer& server, const RegistryCall& call,
                              const std::optional<RegistryError>& objection) {
        return objection ? error_answer(call, *objection) : server.service_.answer(call);
    }

    /// Stores the request's target as it was received. libmicrohttpd passes only its parsed form to answer().
    static void* keep_target(void*, const char* target, MHD_Connection* connection) {
        if (Connection* known = of(connection))
            known->target = target;
        return nullptr;
    }

    /// Called when a request's header is complete, and again when its body is. An answer during the first
    /// call makes the library close the connection afterwards. A request with a body is answered in the first
    /// call, because its body is not read here. All others are answered in the second call, so that their
    /// connection stays open.
    static MHD_Result answer(void* self, MHD_Connection* connection, const char*, const char* method,
                             const char*, const char*, size_t*, void** seen) {
        auto& server = *static_cast<RegistryServer*>(self);
        Connection* known = of(connection);
        if (known == nullptr)
            return MHD_NO;
        if (*seen == nullptr && !has_body(connection)) {
            *seen = known;
            return MHD_YES;
        }
        known->waits_since_us = 0;
        RegistryAnswer answer = ask(server,
                                    {method, known->target, header(connection, "Range"),
                                     header(connection, "If-Range"), header(connection, "If-None-Match")},
                                    objection(server, connection, *known));
        if (!answer.why.empty())
            server.on_why_(answer.why);
        if (server.quiescing_ || (server.keys_ && !known->known)) // closes the connection of a refused client
            answer.headers.emplace_back("Connection", "close");
        known->length = std::string_view(method) == "HEAD" ? 0 : answer.length();
        MHD_Response* response = response_of(answer, server.keys_.has_value());
        if (response == nullptr)
            return MHD_NO;
        const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
        MHD_destroy_response(response);
        return queued;
    }

    static void complete(void* self, MHD_Connection* connection, void**, MHD_RequestTerminationCode how) {
        auto& server = *static_cast<RegistryServer*>(self);
        Connection* known = of(connection);
        if (known == nullptr)
            return;
        if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
            server.service_.metrics().add_sent(known->length);
        known->answered = true;
        known->waits_since_us = base::monotonic_us();
    }
};

RegistryServer::RegistryServer(RegistryService& service, const ServerLimits& limits, OnWhy on_why,
                               std::optional<TlsKeys> keys)
    : service_(service), limits_(limits), on_why_(std::move(on_why)), keys_(std::move(keys)),
      last_us_(base::monotonic_us()) {}

Result<MHD_Daemon*> RegistryServer::listen(const UniqueFd& socket) {
    const auto text = [](std::string& pem) { return static_cast<void*>(pem.data()); };
    std::array<MHD_OptionItem, 5> tls{{{MHD_OPTION_END, 0, nullptr}}};
    if (keys_)
        tls = {{{MHD_OPTION_HTTPS_MEM_TRUST, 0, text(keys_->authorities)},
                {MHD_OPTION_HTTPS_MEM_CERT, 0, text(keys_->certificate)},
                {MHD_OPTION_HTTPS_MEM_KEY, 0, text(keys_->key)},
                {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(tls_priorities)}, // the C API has void*
                {MHD_OPTION_END, 0, nullptr}}};
    // The library gets a duplicate, because MHD_start_daemon() usually closes the socket on failure. After
    // success MHD_quiesce_daemon() returns the duplicate.
    const int own = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return base::fail_errno("the listening socket", errno);
    MHD_Daemon* daemon =
        MHD_start_daemon((keys_ ? MHD_USE_TLS : MHD_NO_FLAG) | MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0,
                         nullptr, nullptr, &Callbacks::answer, this, MHD_OPTION_STRICT_FOR_CLIENT,
                         1,                                                // strict: refuses malformed HTTP
                         MHD_OPTION_LISTEN_SOCKET, own,                    //
                         MHD_OPTION_THREAD_POOL_SIZE, limits_.threads,     //
                         MHD_OPTION_CONNECTION_LIMIT, limits_.connections, //
                         MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(limits_.patience.count()), //
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, head_limit,                                 //
                         MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::notice, this,                         //
                         MHD_OPTION_NOTIFY_COMPLETED, &Callbacks::complete, this,                        //
                         MHD_OPTION_URI_LOG_CALLBACK, &Callbacks::keep_target, this,                     //
                         MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
    if (daemon == nullptr)
        return base::fail(Errc::Failed, "the HTTP server does not start on its listening socket",
                          keys_ ? "Check the key and the certificates." : "");
    return daemon;
}

Result<std::unique_ptr<RegistryServer>> RegistryServer::start(RegistryService& service,
                                                              const std::vector<UniqueFd>& sockets,
                                                              const ServerLimits& limits, OnWhy on_why,
                                                              std::optional<TlsKeys> keys) {
    std::unique_ptr<RegistryServer> server(
        new RegistryServer(service, limits, std::move(on_why), std::move(keys)));
    for (const UniqueFd& socket : sockets) {
        GPUHOST_TRY(daemon, server->listen(socket));
        server->daemons_.push_back(daemon);
    }
    return server;
}

RegistryServer::~RegistryServer() {
    quiesce();
    for (MHD_Daemon* daemon : daemons_)
        MHD_stop_daemon(daemon);
}

void RegistryServer::quiesce() {
    if (quiescing_.exchange(true))
        return;
    for (MHD_Daemon* daemon : daemons_)
        quiesced_.emplace_back(MHD_quiesce_daemon(daemon));
}

void RegistryServer::end_slow() {
    const std::uint64_t now = base::monotonic_us();
    const auto patience = static_cast<std::uint64_t>(std::chrono::microseconds(limits_.patience).count());
    // notice() needs the lock, so no descriptor is closed and reused meanwhile.
    const std::lock_guard lock(mutex_);
    for (const Connection& connection : connections_)
        if (const std::uint64_t since = connection.waits_since_us; since != 0 && since + patience < now)
            (void)::shutdown(connection.fd, SHUT_RDWR);
}

/// Closes the new connection `made` if its client has too many connections. Limits the number of connections
/// from the same address. Also limits the number from the same peer_network() without a valid certificate so
/// far, because one host may use all IPv6 addresses of its network. Connections with a valid certificate are
/// not limited by network, because all hosts of a rack share it. Does nothing without TLS: all runtimes of
/// this host have the same address. The caller holds mutex_.
void RegistryServer::limit_peer(Connection& made) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (!keys_ || ::getpeername(made.fd, reinterpret_cast<sockaddr*>(&address), &size) < 0)
        return;
    made.address = peer_address(address);
    made.network = peer_network(address);
    std::ptrdiff_t of_address = 0;
    std::ptrdiff_t unknown = 0;
    for (const Connection& one : connections_) {
        of_address += !one.ended && one.address == made.address ? 1 : 0;
        unknown += !one.ended && !one.known && one.network == made.network ? 1 : 0;
    }
    if (of_address > connections_of_a_host || unknown > connections_of_a_host)
        made.end();
}

/// Called for the new connection `made`. If more than three quarters of ServerLimits::connections are open,
/// closes the connection that has waited longest for a request. Idle clients therefore do not block others.
/// Does not close `made`, whose client had no time to send a request. Closes none if all others have a
/// request in progress: the last quarter of the limit is for that case. The caller holds mutex_.
void RegistryServer::make_room(const Connection& made) {
    const auto open = static_cast<std::size_t>(std::count_if(
        connections_.begin(), connections_.end(), [](const Connection& one) { return !one.ended; }));
    if (open <= limits_.connections - limits_.connections / 4)
        return;
    Connection* longest = nullptr;
    for (Connection& one : connections_) {
        const bool is_idle = &one != &made && !one.ended && one.waits_since_us != 0;
        if (is_idle && (longest == nullptr || one.waits_since_us < longest->waits_since_us))
            longest = &one;
    }
    if (longest != nullptr)
        longest->end();
}

std::chrono::milliseconds RegistryServer::idle() const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t us = connections_.empty() ? base::monotonic_us() - last_us_ : 0;
    return std::chrono::milliseconds(us / 1000);
}

bool RegistryServer::drained() const {
    const std::lock_guard lock(mutex_);
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const Connection& one) { return one.answered && one.waits_since_us != 0; });
}

} // namespace gpuhost::images
