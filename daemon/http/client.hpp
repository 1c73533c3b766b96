// SPDX-License-Identifier: Apache-2.0
// HTTPS, many requests at a time, without blocking: what our programs that speak over a network have of libcurl. Who asks
// says whom to trust; nothing else of the machine's configuration has a say: no proxy of the environment, no redirect, no
// .netrc. TLS 1.2 at least, verified always. Names are looked up in threads of libcurl's own.
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

/// PEM. One who trusts nobody can ask nobody by https: `authorities` is never empty there.
struct Tls {
    std::string authorities; ///< whom alone to trust
    std::string certificate; ///< our own, with those between it and its authority; empty: we show none
    std::string key;
};

struct Options {
    Tls tls;
    std::string server_name; ///< verified, and asked for, in place of the URL's own; empty: that
    std::string proxy;       ///< http, https or socks5 URL; empty: none
    bool plain = false;      ///< http:// too, where whoever answers is believed
    /// Where the server speaks it: one connection for all. After a request without an answer the next ones get another
    /// connection. Those on the first one end with it, unless something has arrived there since.
    bool http2 = false;
    std::size_t most_idle_connections = 4;
};

struct Request {
    std::string method = "GET";
    std::string url;                  ///< https, or http where Options::plain says so
    std::vector<std::string> headers; ///< "Accept: application/json"; a line each, or it is not asked
    std::string body;
    std::uint64_t first = 0;       ///< with `length`: only these bytes
    std::uint64_t length = 0;      ///< exactly so many; 0: all there are,
    std::size_t limit = 1U << 20U; ///< at most so many
    std::chrono::milliseconds connect_deadline{3'000};
    std::chrono::milliseconds deadline{60'000}; ///< for all of it; 0: none
    std::chrono::milliseconds silence{0}; ///< so long with fewer than `least_speed` bytes a second: 0: any
    std::uint64_t least_speed = 1;
    /// A good answer (2xx) begins, which for a stream may be long before its first byte.
    std::function<void()> on_begin;
    /// Given what it brings, as it comes, in place of Answer::body, and without `limit`; false ends it.
    std::function<bool(std::string_view)> on_bytes;
};

enum class Failure {
    None,
    Unreachable, ///< no connection, no such name, the connection broke
    Untrusted,   ///< it, or we, are not who the other end wants
    Timeout,
    TooMuch, ///< more than was asked for, or on_bytes ended it
    TooLittle,
};

struct Answer {
    std::uint64_t id = 0;
    unsigned status = 0;                        ///< 0: none came
    std::map<std::string, std::string> headers; ///< names in lower case
    std::string body;
    Failure failure = Failure::None;
    std::string problem; ///< `failure` in words; empty for None, whatever the status
};

class Client {
  public:
    [[nodiscard]] static base::Result<Client> make(Options options);
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Of requests that start from now on; their connections are none of those of before.
    [[nodiscard]] base::Result<void> set_tls(const Tls& tls);

    /// Returns its id, never 0. It gets on only in work() and wait(). A request's functions may start and cancel others.
    std::uint64_t start(Request request);
    /// It is not answered any more.
    void cancel(std::uint64_t id);

    /// Readable when there is something for work() to do: for somebody else's loop.
    [[nodiscard]] int descriptor() const;
    /// Does what can be done without waiting. What has been answered since.
    [[nodiscard]] std::vector<Answer> work();
    /// The same after a while, or as soon as anything is answered, or `writable` (a descriptor, or -1) can be written to.
    [[nodiscard]] std::vector<Answer> wait(std::chrono::milliseconds most, int writable = -1);

  private:
    struct Transfers;
    explicit Client(std::unique_ptr<Transfers> transfers);
    std::unique_ptr<Transfers> transfers_;
};

} // namespace gpuhost::http
