// SPDX-License-Identifier: Apache-2.0
// A client for many concurrent HTTPS requests that does not block: the only use of libcurl in gpuhost's
// network programs. The caller names the authorities to trust. Nothing else on the machine has an effect: no
// proxy from the environment, no redirect, no .netrc. TLS is 1.2 or newer and always verified. libcurl looks
// up names in threads of its own.
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

/// PEM texts. A request by https fails if `authorities` is empty.
struct Tls {
    std::string authorities; ///< the only trusted authorities
    std::string certificate; ///< the client's, then its intermediate ones; empty: the client has none
    std::string key;
};

struct Options {
    Tls tls;
    /// Requested (SNI, Host) and verified in place of the URL's host; empty: the URL's.
    std::string server_name;
    std::string proxy;  ///< http, https or socks5 URL; empty: none
    bool plain = false; ///< allows http:// too, without any verification of the server
    /// Uses HTTP/2 if the server supports it: one connection for all requests. After a request times out, the
    /// next ones use another connection. Requests on the old one end with it, unless bytes have arrived there
    /// since.
    bool http2 = false;
    std::size_t most_idle_connections = 4;
};

struct Request {
    std::string method = "GET";
    std::string url; ///< https, or http if Options::plain is set
    /// "Accept: application/json"; the request fails if one has a line break.
    std::vector<std::string> headers;
    std::string body;
    std::uint64_t first = 0;       ///< offset in bytes of the range, if `length` is set
    std::uint64_t length = 0;      ///< exact size in bytes of the range; 0: the whole content
    std::size_t limit = 1U << 20U; ///< most bytes of the body if `length` is 0
    std::chrono::milliseconds connect_deadline{3'000};
    std::chrono::milliseconds deadline{60'000}; ///< for the whole request; 0: none
    /// Fails with Timeout after this time with fewer than `least_speed` bytes a second; whole seconds; 0:
    /// never.
    std::chrono::milliseconds silence{0};
    std::uint64_t least_speed = 1;
    /// Called when the headers of a good answer (2xx) have arrived. For a stream this may be long before its
    /// first byte.
    std::function<void()> on_begin;
    /// Called with each part of a good answer's body, in place of Answer::body and without `limit`. If it
    /// returns false, the request ends with TooMuch.
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
    unsigned status = 0;                        ///< of HTTP; 0: no answer
    std::map<std::string, std::string> headers; ///< names in lower case
    std::string body;
    Failure failure = Failure::None;
    std::string problem; ///< describes `failure`; empty for None, also with an error status
};

class Client {
  public:
    [[nodiscard]] static base::Result<Client> make(Options options);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Sets the certificates of requests that start from now on, which use new connections. Fails with
    /// InvalidArgument without an authority.
    [[nodiscard]] base::Result<void> set_tls(const Tls& tls);

    /// Starts a request and returns its id, never 0. It makes progress only in work() and wait(). Functions
    /// of a request may start and cancel others.
    std::uint64_t start(Request request);
    /// Cancels a request: it gets no Answer.
    void cancel(std::uint64_t id);

    /// Returns a descriptor for the caller's event loop, readable when work() has something to do. The client
    /// owns it.
    [[nodiscard]] int descriptor() const;
    /// Does what is possible without waiting. Returns the answers that have become complete.
    [[nodiscard]] std::vector<Answer> work();
    /// Like work(), but if no answer is complete, waits up to `most`. Stops waiting when there is something
    /// to do, or when `writable` (a descriptor, or -1) can be written to. May return no answer.
    [[nodiscard]] std::vector<Answer> wait(std::chrono::milliseconds most, int writable = -1);

  private:
    struct Transfers;
    explicit Client(std::unique_ptr<Transfers> transfers);
    std::unique_ptr<Transfers> transfers_;
};

} // namespace gpuhost::http
