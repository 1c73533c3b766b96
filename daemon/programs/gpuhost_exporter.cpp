// SPDX-License-Identifier: Apache-2.0
// gpuhost-exporter: the metrics of this host for Prometheus. Serves them on the sockets that systemd passes,
// or writes them to a file or to stdout.
#include "daemon/base/arguments.hpp"
#include "daemon/base/clock.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/exporter/query.hpp"
#include "daemon/exporter/textfile.hpp"
#include "daemon/metrics/server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Result;
using std::chrono::milliseconds;

constexpr const char* usage = R"(gpuhost-exporter [OPTIONS]

Prints the metrics of this host for Prometheus. If gpuhost-metrics.socket started it, serves them by HTTP.
See gpuhost-exporter(8).

  --textfile=FILE         write them to FILE, for the textfile collector of node_exporter
  --idle-timeout=SECONDS  as a service: time without a connection after which it exits (default: 300)
  -h, --help              print this
  --version               print the version
)";

constexpr milliseconds answer_time{4'000};    ///< for gpuhostd; Prometheus waits ten seconds by default
constexpr std::uint64_t fresh_us = 1'000'000; ///< age at which an answer is not used for another request
constexpr std::uint64_t most_idle_s = 86'400;

struct Options {
    std::string textfile = "-"; ///< -: stdout
    std::string idle_timeout = "300";
};

/// The metrics for all requests. Asks gpuhostd at most once a second.
class Metrics {
  public:
    const std::string& text() {
        if (text_.empty() || base::monotonic_us() >= fresh_until_) {
            const auto documents = exporter::query(answer_time);
            log(documents ? nullptr : &documents.error());
            text_ = exporter::metrics_text(documents ? &*documents : nullptr);
            fresh_until_ = base::monotonic_us() + fresh_us;
        }
        return text_;
    }

  private:
    /// Logs an error once, with its hint. Null means that there is none.
    void log(const base::Error* error) {
        const std::string message = error ? error->message : "";
        if (std::exchange(error_, message) == message || !error)
            return;
        base::log::warning(message);
        if (!error->hint.empty())
            base::log::warning(error->hint);
    }

    std::string text_;
    std::string error_; ///< the message of the last error; empty if there was none
    std::uint64_t fresh_until_ = 0;
};

using Servers = std::vector<std::unique_ptr<metrics::Server>>;

Result<Servers> start_servers(int count, Metrics& metrics) {
    Servers servers;
    for (int i = 0; i < count; ++i) {
        base::UniqueFd socket(SD_LISTEN_FDS_START + i);
        if (sd_is_socket(socket.get(), AF_UNSPEC, SOCK_STREAM, 1) <= 0)
            return base::fail(Errc::InvalidArgument,
                              "an inherited descriptor is not a listening stream socket",
                              "Write ListenStream= in gpuhost-metrics.socket.");
        GPUHOST_TRY(server, metrics::Server::start(std::move(socket), [&metrics]() -> const std::string& {
                        return metrics.text();
                    }));
        servers.push_back(std::move(server));
    }
    return servers;
}

/// Returns the time since the last connection to any server ended; 0 if there is one.
milliseconds idle(const Servers& servers) {
    const auto lowest =
        std::min_element(servers.begin(), servers.end(),
                         [](const auto& one, const auto& other) { return one->idle() < other->idle(); });
    return (*lowest)->idle();
}

/// Blocks until a server has work, at most until `idle_timeout` may have passed.
Result<void> wait(const Servers& servers, milliseconds idle_timeout) {
    const milliseconds now{static_cast<milliseconds::rep>(base::monotonic_us() / 1000)};
    milliseconds until = now + idle_timeout - idle(servers);
    std::vector<pollfd> polled;
    for (const auto& server : servers) {
        polled.push_back({server->descriptor(), POLLIN, 0});
        until = std::min(until, server->due().value_or(until));
    }
    const auto left = std::max(milliseconds(0), until - now).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(left)) < 0 && errno != EINTR)
        return base::fail_errno("waiting for connections", errno);
    return {};
}

/// Serves until no connection has existed for `idle_timeout`.
Result<void> serve(int count, milliseconds idle_timeout) {
    Metrics metrics;
    GPUHOST_TRY(servers, start_servers(count, metrics));
    while (idle(servers) < idle_timeout) {
        GPUHOST_CHECK(wait(servers, idle_timeout));
        for (const auto& server : servers)
            server->turn();
    }
    return {};
}

Result<void> run(const Options& options) {
    const auto idle_s = base::parse_uint(options.idle_timeout);
    if (!idle_s || *idle_s == 0 || *idle_s > most_idle_s)
        return base::fail(Errc::InvalidArgument,
                          "'" + options.idle_timeout + "' is not a valid number of seconds",
                          "Give --idle-timeout= a number from 1 to 86400.");
    const int count = sd_listen_fds(1);
    if (count > 0 && options.textfile != "-")
        return base::fail(Errc::InvalidArgument, "--textfile= does not work with sockets of systemd",
                          "Remove --textfile= from ExecStart= of gpuhost-metrics.service.");
    if (count > 0)
        return serve(count, milliseconds(*idle_s * 1000));
    const std::string text = Metrics().text();
    if (options.textfile != "-")
        return exporter::write_textfile(options.textfile, text);
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
        return base::fail_errno("writing to stdout", errno);
    return {};
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status = base::parse_arguments(
            std::span(argv, static_cast<std::size_t>(argc)), {"gpuhost-exporter", usage},
            {{"--textfile=", &options.textfile}, {"--idle-timeout=", &options.idle_timeout}}))
        return *status;
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto done = run(options);
    if (!done) {
        base::log::error(done.error().message);
        if (!done.error().hint.empty())
            base::log::error(done.error().hint);
        return base::info(done.error().code).exit_code;
    }
    return 0;
}
