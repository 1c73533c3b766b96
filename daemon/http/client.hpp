// SPDX-License-Identifier: Apache-2.0
// A client for many concurrent HTTPS requests that does not block: the only use of libcurl in gpuhost's
// network programs. The caller names the certificate authorities to trust. Other configuration of the host
// has no effect: no proxy from the environment, no redirect, no .netrc. TLS is 1.2 or newer, and the server's
// certificate is always verified. libcurl looks up host names in threads of its own.
#pragma once

#include "daemon/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::http {

/// PEM texts. An https request fails if `authorities` is empty.
struct Tls {
    std::string authorities; ///< the only trusted certificate authorities
    std::string certificate; ///< the client's certificate, then intermediate ones; empty: the client has none
    std::string key;
};

struct Options {
    Tls tls;
    /// Host name to send (SNI, Host) and to verify in place of the URL's host; empty: the URL's.
    std::string server_name;
    std::string proxy;  ///< http, https or socks5 URL; empty: none
    bool plain = false; ///< allows http:// too, without any verification of the server
    /// Uses HTTP/2 if the server supports it: one connection for all requests. After a request times out, new
    /// requests use another connection. The other requests on the old connection then fail with Timeout too,
    /// unless one of them has received bytes more recently.
    bool http2 = false;
    std::size_t most_idle_connections = 4;
};

struct Request {
    std::string method = "GET";
    std::string url; ///< https, or http if Options::plain is set
    /// "Accept: application/json". The request fails if a header contains a line break.
    std::vector<std::string> headers;
    std::string body;
    std::uint64_t first = 0;       ///< if `length` is not 0: offset in bytes of the requested range
    std::uint64_t length = 0;      ///< size in bytes of the requested range; 0: the whole content
    std::size_t limit = 1U << 20U; ///< largest accepted body in bytes, if `length` is 0
    std::chrono::milliseconds connect_deadline{3'000};
    std::chrono::milliseconds deadline{60'000}; ///< for the whole request; 0: none
    /// The request fails with Timeout if fewer than `least_speed` bytes a second arrive during this time.
    /// Whole seconds; 0: no such limit.
    std::chrono::milliseconds silence{0};
    std::uint64_t least_speed = 1;
    /// Called when the headers of a successful answer (2xx) have arrived. In a stream this may be long before
    /// the first byte of the body.
    std::function<void()> on_begin;
    /// Called with each part of the body of a successful answer. Answer::body then stays empty, and `limit`
    /// does not apply. If on_bytes returns false, the request ends with TooMuch.
    std::function<bool(std::string_view)> on_bytes;
};

enum class Failure {
    None,
    Unreachable, ///< no connection, unknown name, broken connection, or a request that can't be sent
    Untrusted,   ///< the server's or the client's certificate was not accepted
    Timeout,
    TooMuch,   ///< more bytes than requested, or on_bytes returned false
    TooLittle, ///< fewer bytes than requested
};

struct Answer {
    std::uint64_t id = 0;
    unsigned status = 0;                        ///< HTTP status; 0: no answer
    std::map<std::string, std::string> headers; ///< names in lower case
    std::string body;
    Failure failure = Failure::None;
    std::string problem; ///< describes `failure`; empty if `failure` is None, even for an HTTP error
};

class Client {
  public:
    [[nodiscard]] static base::Result<Client> make(Options options);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Sets the certificates of requests that are started from now on. These requests use new connections.
    /// Fails with InvalidArgument if `authorities` is empty.
    [[nodiscard]] base::Result<void> set_tls(const Tls& tls);

    /// Starts a request and returns its id, never 0. The request makes progress only in work() and wait().
    /// Its callbacks may start and cancel requests.
    std::uint64_t start(Request request);
    /// Cancels a request: it gets no Answer.
    void cancel(std::uint64_t id);

    /// Returns a descriptor for the caller's event loop. It is readable when work() has something to do. The
    /// client owns it.
    [[nodiscard]] int descriptor() const;
    /// Does what is possible without waiting. Returns the answers of requests that have ended.
    [[nodiscard]] std::vector<Answer> work();
    /// Like work(), but waits up to `most` if no request has ended. Stops waiting when there is something to
    /// do, or when the descriptor `writable` can be written to (-1: none). May return no answer.
    [[nodiscard]] std::vector<Answer> wait(std::chrono::milliseconds most, int writable = -1);

  private:
    struct Transfers;
    explicit Client(std::unique_ptr<Transfers> transfers);
    std::unique_ptr<Transfers> transfers_;
};

} // namespace gpuhost::http
