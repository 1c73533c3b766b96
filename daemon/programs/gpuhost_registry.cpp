// SPDX-License-Identifier: Apache-2.0
// gpuhost-registry: serves the images of this host's bundles, or with --peers the blobs that other hosts
// fetch. systemd passes its sockets.
#include "daemon/base/arguments.hpp"
#include "daemon/base/clock.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/rate_limit.hpp"
#include "images/registry/peer_service.hpp"
#include "images/registry/registry.hpp"
#include "images/registry/server.hpp"
#include "images/registry_settings.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <span>

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using std::chrono::milliseconds;

constexpr const char* usage = R"(gpuhost-registry [OPTIONS]

Serves the images of this host's bundles to container runtimes. Started by gpuhost-registry.socket; see
gpuhost-registry(8).

  --peers     serve the blobs of signed bundles to other hosts, over TLS
  --root=DIR  use the tree below DIR (default: /)
  -h, --help  print this
  --version   print the version
)";

constexpr unsigned lines_of_why = 10; ///< lines in the journal in each interval
constexpr std::uint64_t why_interval_us = 10'000'000;
constexpr milliseconds drain_time{30'000}; ///< for requests in progress after SIGTERM

struct Options {
    std::string root = "/";
    bool peers = false;
};

base::Result<std::vector<base::UniqueFd>> inherited_sockets() {
    std::vector<base::UniqueFd> sockets;
    const int count = sd_listen_fds(1);
    sockets.reserve(static_cast<std::size_t>(std::max(count, 0)));
    for (int i = 0; i < count; ++i)
        sockets.emplace_back(SD_LISTEN_FDS_START + i);
    if (sockets.empty())
        return base::fail(base::Errc::InvalidArgument,
                          "no listening socket: start gpuhost-registry.socket, which starts this service");
    return sockets;
}

milliseconds now() {
    return milliseconds(base::monotonic_us() / 1000);
}

/// Serves until a signal arrives, or until no connection has existed for `idle_timeout`.
void serve(images::RegistryServer& server, const sigset_t& signals, milliseconds idle_timeout) {
    const std::timespec tick{1, 0};
    while (::sigtimedwait(&signals, nullptr, &tick) < 0) {
        server.end_slow();
        if (server.idle() >= idle_timeout)
            return;
    }
}

/// Waits until the requests in progress have ended, at most drain_time. New connections wait in the sockets
/// for the next start of the service.
void drain(images::RegistryServer& server) {
    const std::timespec tick{0, 10'000'000};
    server.quiesce();
    for (const milliseconds end = now() + drain_time; !server.drained() && now() < end;) {
        server.end_slow();
        (void)::nanosleep(&tick, nullptr);
    }
}

/// Accepts and closes all waiting connections. Called when the service can't start: otherwise these
/// connections would start it again at once, until systemd disables the socket.
void turn_away(const std::vector<base::UniqueFd>& sockets) {
    const std::timespec pause{1, 0};
    (void)::nanosleep(&pause, nullptr);
    for (const base::UniqueFd& socket : sockets) {
        (void)::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
        while (base::UniqueFd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC)))
            continue;
    }
}

base::Result<void> run(const Options& options) {
    sigset_t signals;
    (void)::sigemptyset(&signals);
    (void)::sigaddset(&signals, SIGTERM);
    (void)::sigaddset(&signals, SIGINT);
    (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr); // all threads inherit the mask
    GPUHOST_TRY(root, base::Root::open(options.root));
    GPUHOST_TRY(sockets, inherited_sockets());
    // Ignores errors in the settings: gpuhostd reports them, because it knows all sections.
    const auto settings =
        images::registry_settings(core::load_settings(root, {images::registry_setting_keys()}).settings);
    base::RateLimit limit(lines_of_why, why_interval_us);
    const auto on_why = [&limit](const std::string& why) {
        if (const auto left_out = limit.admit(base::monotonic_us()))
            base::log::info(why + (*left_out > 0 ? " (and " + std::to_string(*left_out) + " more)" : ""));
    };
    images::ServerLimits limits;
    limits.connections = settings.connections;
    const auto give_up = [&sockets](base::Error error) {
        turn_away(sockets);
        return base::fail(std::move(error));
    };
    std::unique_ptr<images::RegistryService> service;
    std::optional<images::TlsKeys> keys;
    if (options.peers) {
        auto read = images::read_tls_keys();
        if (!read)
            return give_up(std::move(read).error());
        keys = *std::move(read);
        service = std::make_unique<images::PeerService>(root);
    } else {
        service = std::make_unique<images::Registry>(root);
    }
    auto started = images::RegistryServer::start(*service, sockets, limits, on_why, std::move(keys));
    if (!started)
        return give_up(std::move(started).error());
    images::RegistryServer& server = **started;
    (void)sd_notify(0, "READY=1");
    serve(server, signals, settings.idle_timeout);
    (void)sd_notify(0, "STOPPING=1");
    drain(server);
    return {};
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status = base::parse_arguments(
            std::span(argv, static_cast<std::size_t>(argc)), {"gpuhost-registry", usage},
            {{"--root=", &options.root}, {"--peers", nullptr, &options.peers}}))
        return *status;
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto done = run(options);
    if (!done) {
        base::log::error(done.error().message);
        return base::info(done.error().code).exit_code;
    }
    return 0;
}
