// SPDX-License-Identifier: Apache-2.0
// gpuhost-fetch: imports bundles from other hosts of the site (peers). Only this program connects to peers,
// as a user that owns no files. It sends the received data through a pipe to an import of gpuhostd, which
// verifies everything again.
#include "daemon/base/arguments.hpp"
#include "daemon/base/clock.hpp"
#include "daemon/base/log.hpp"
#include "daemon/base/process.hpp"
#include "daemon/client/bundle_call.hpp"
#include "daemon/client/fetch_socket.hpp"
#include "daemon/core/step.hpp"
#include "images/bundle/layout.hpp"
#include "images/bundle/trust.hpp"
#include "images/peers/discovery.hpp"
#include "images/peers/peers.hpp"
#include "images/peers/transfer.hpp"
#include "images/peers_settings.hpp"
#include "images/registry/tls_keys.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <span>

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Json;
using base::Result;
using base::UniqueFd;
using std::chrono::milliseconds;

constexpr const char* usage = R"(gpuhost-fetch [OPTIONS] [BUNDLE…]
gpuhost-fetch [OPTIONS] --discover [DOMAIN…]

Imports bundles from this host's peers: each BUNDLE, or those that gpuhostd.conf(5) names. Started by
gpuhost-fetch.socket for 'gpuhostctl bundle fetch', and by gpuhost-fetch.timer; see gpuhost-peers(8).

  --root=DIR  use the tree below DIR (default: /)
  --discover  print the peers that DNS lists for each DOMAIN, or for those of
              gpuhostd.conf(5), and fetch nothing
  -h, --help  print this
  --version   print the version
)";

constexpr milliseconds tick{200};
constexpr int pipe_bytes = 1 << 20;
constexpr milliseconds all_of_dns = std::chrono::minutes(5);

struct Options {
    std::string root = "/";
    bool discover = false;
    std::vector<std::string> words; ///< bundles; with --discover: DNS domains
};

milliseconds now() {
    return milliseconds(base::monotonic_us() / 1000);
}

/// Reports to the journal and, if there is a caller, to gpuhostctl at the other end of a socket.
class Asker {
  public:
    explicit Asker(UniqueFd socket = {}) : socket_(std::move(socket)) {}

    void note(const std::string& text) {
        base::log::info(text);
        send({{"note", text}});
    }
    void operation(std::uint64_t id) { send({{"operation", id}}); }
    void end(int status) { send({{"status", status}}); }
    /// Reports an error. Returns the exit status for the error's code.
    int error(const base::Error& error) {
        base::log::error(error.message);
        send({{"error", base::to_json(error)}});
        return base::info(error.code).exit_code;
    }

  private:
    /// Never waits for gpuhostctl: if it stops reading or disconnects, the import continues without it.
    void send(const Json& line) {
        if (socket_ && !base::write_all(socket_.get(), base::dump(line) + "\n", "gpuhostctl"))
            socket_.reset();
    }
    UniqueFd socket_;
};

class Fetcher {
  public:
    Fetcher(const base::Root& root, client::Client& daemon, images::PeerClient& client,
            const std::vector<std::string>& peers, Asker& asker)
        : root_(root), daemon_(daemon), client_(client), asker_(asker),
          peers_(root, client, peers, [&asker](const std::string& text) { asker.note(text); }) {}

    /// Fetches the bundles with these names or, if `patterns` is set, the peers' bundles that match these
    /// patterns. After an error with one bundle it reports the error and continues with the next. Returns the
    /// exit status.
    Result<int> run(const std::vector<std::string>& bundles, bool patterns) {
        if (peers_.empty())
            return base::fail(
                Errc::NotFound, "no peers found",
                "Set Peers=, or Domains= for peers in DNS, in section [Peers] of gpuhostd.conf(5); "
                "gpuhost-peers(8) shows the records.");
        GPUHOST_TRY(trust, images::load_trust(root_));
        GPUHOST_TRY(listed, daemon_.ask(client::bundle_call("List")));
        const images::HostFacts host = images::host_facts_from_json(listed);
        peers_.look();
        int status = 0;
        std::vector<images::SignedManifest> chosen;
        std::set<std::string> asked;
        for (const std::string& name : patterns ? images::wanted_names(peers_.bundles(), bundles) : bundles) {
            if (!asked.insert(name).second)
                continue;
            auto bundle = choose(name, trust, host);
            if (!bundle)
                status = asker_.error(bundle.error());
            else if (*bundle)
                chosen.push_back(**std::move(bundle));
        }
        const int fetched = fetch_all(std::move(chosen), host);
        return fetched == 0 ? status : fetched;
    }

  private:
    Result<std::optional<images::SignedManifest>>
    choose(const std::string& name, const content::TrustAnchors& trust, const images::HostFacts& host) {
        if (!images::is_bundle_name(name))
            return base::fail(Errc::InvalidArgument, "'" + name + "' is not a valid bundle name");
        auto bundle = peers_.choose(name, trust, host);
        if (bundle && !*bundle)
            asker_.note("bundle '" + name + "' is already on this host and complete");
        return bundle;
    }

    /// Fetches the chosen bundles. Partly received bundles are fetched first, because an import removes the
    /// partial data of other bundles. If a bundle makes progress but does not complete, no further bundle is
    /// fetched. If a bundle makes no progress at all, the next bundle follows.
    int fetch_all(std::vector<images::SignedManifest> bundles, const images::HostFacts& host) {
        std::stable_partition(bundles.begin(), bundles.end(), [&](const images::SignedManifest& bundle) {
            return images::received_bytes(root_, bundle.digest) > 0;
        });
        int status = 0;
        for (auto bundle = bundles.begin(); bundle != bundles.end(); ++bundle) {
            const std::uint64_t before = images::received_bytes(root_, bundle->digest);
            const auto fetched = fetch(*bundle, host);
            if (fetched)
                continue;
            status = asker_.error(fetched.error());
            if (images::received_bytes(root_, bundle->digest) <= before)
                continue;
            for (++bundle; bundle != bundles.end(); ++bundle)
                asker_.note("bundle '" + bundle->manifest.name +
                            "' was not fetched: it would discard the partial download of the previous one");
            break;
        }
        return status;
    }

    Result<void> fetch(const images::SignedManifest& bundle, const images::HostFacts& host) {
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_CLOEXEC) < 0)
            return base::fail_errno("creating a pipe", errno);
        UniqueFd out(ends[1]);
        (void)::fcntl(out.get(), F_SETPIPE_SZ, pipe_bytes);
        (void)::fcntl(out.get(), F_SETFL, O_NONBLOCK);
        std::vector<client::InputFile> files;
        files.push_back({bundle.manifest.name, UniqueFd(ends[0])});
        GPUHOST_TRY(id, daemon_.start(client::bundle_call("Receive", {files}), {}));
        files.clear();
        asker_.operation(id);
        const auto sent = send(bundle, host, out.get());
        out.reset();
        const auto ended = wait_for(id);
        return sent ? ended : sent; // if the transfer failed, the error of the import operation adds nothing
    }

    Result<void> send(const images::SignedManifest& bundle, const images::HostFacts& host, int pipe) {
        images::BlobFetch fetch(images::wanted_blobs(root_, bundle, host), peers_.names(), {},
                                [this](const std::string& text) { asker_.note(text); });
        return images::Transfer(peers_, client_, std::move(fetch),
                                images::manifest_header(bundle.der.size()) + bundle.der, now)
            .run(pipe);
    }

    /// Polls the operation until it ends, also across a restart of gpuhostd. Does not subscribe to signals,
    /// because they would not be read while data arrives.
    Result<void> wait_for(std::uint64_t id) {
        const auto running = [](const Json& operation) {
            const std::string state = base::string_or(operation, "state", "");
            return state == "running" || state == "undoing";
        };
        for (;;) {
            const auto operation = daemon_.describe_operation(id);
            if (operation && !running(*operation))
                return outcome(*operation);
            if (!operation && operation.error().code == Errc::NotFound)
                return base::fail(operation.error());
            GPUHOST_TRY(event, daemon_.wait(tick, -1));
            (void)event;
        }
    }

    static Result<void> outcome(const Json& operation) {
        if (base::string_or(operation, "state", "") == "committed")
            return {};
        if (const Json& problems = base::member(operation, "problems");
            problems.is_array() && !problems.empty()) {
            core::Problem problem = core::problem_from_json(problems.front());
            return base::fail(problem.code, std::move(problem.text), std::move(problem.hint));
        }
        base::Error error = base::error_from_json(base::member(operation, "error"));
        if (error.message.empty())
            error.message = "the import ended with state '" + base::string_or(operation, "state", "") + "'";
        return base::fail(std::move(error));
    }

    const base::Root& root_;
    client::Client& daemon_;
    images::PeerClient& client_;
    Asker& asker_;
    images::Peers peers_;
};

images::PeersSettings load(const base::Root& root) {
    return images::peers_settings(core::load_settings(root, {images::peers_setting_keys()}).settings);
}

/// Handles SIGALRM: exits, because nothing else interrupts the C library's resolver.
void give_up_dns(int) {
    constexpr std::string_view text = "DNS discovery found no further peer within Timeout=\n";
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    (void)written;
    ::_exit(base::info(Errc::Timeout).exit_code);
}

int print_discovered(const base::Root& root, const std::vector<std::string>& domains) {
    const auto settings = load(root);
    const auto most = std::chrono::ceil<std::chrono::seconds>(
        std::clamp<milliseconds>(settings.timeout, std::chrono::seconds(1), all_of_dns));
    const auto wait = [most] { (void)::alarm(static_cast<unsigned>(most.count())); };
    const auto on_peer = [wait](const std::string& peer) {
        (void)std::puts(peer.c_str());
        (void)std::fflush(stdout); // the process may exit at any time
        wait();
    };
    const auto on_note = [](const std::string& note) { (void)std::fprintf(stderr, "%s\n", note.c_str()); };
    (void)std::signal(SIGALRM, give_up_dns);
    wait();
    images::Discovery(on_peer, on_note).ask(domains.empty() ? settings.domains : domains);
    return 0;
}

/// Returns the peers that the DNS names. A child process (this program with --discover) asks the DNS, and
/// exits if the DNS does not answer in time.
std::vector<std::string> discover(const base::Root& root, Asker& asker) {
    std::vector<std::string> peers;
    base::Command command;
    command.argv = {"/proc/self/exe", "--root=" + root.directory(), "--discover"};
    command.deadline = all_of_dns;
    command.output_limit = 0;
    command.on_line = [&](std::string_view line) {
        std::string text(line);
        if (images::peer_url(text).empty())
            asker.note(text);
        else
            peers.push_back(std::move(text));
    };
    const auto finished = base::run(command);
    if (!finished)
        asker.note(finished.error().message);
    else if (finished->timed_out)
        asker.note("DNS discovery timed out after five minutes");
    else if (finished->exit_status != 0 && finished->exit_status != base::info(Errc::Timeout).exit_code)
        asker.note("DNS discovery exited with status " + std::to_string(finished->exit_status));
    return peers;
}

Result<int> fetch(const base::Root& root, const std::vector<std::string>& bundles, Asker& asker) {
    const auto settings = load(root);
    GPUHOST_TRY(keys, images::read_tls_keys());
    GPUHOST_TRY(client, images::PeerClient::make(keys, settings.timeout));
    GPUHOST_TRY(daemon, client::Client::connect(false));
    std::vector<std::string> peers = settings.peers;
    if (!settings.domains.empty())
        for (std::string& peer : discover(root, asker))
            peers.push_back(std::move(peer));
    Fetcher fetcher(root, daemon, client, peers, asker);
    return fetcher.run(bundles.empty() ? settings.bundles : bundles, bundles.empty());
}

int fetch_for(const base::Root& root, const Result<std::vector<std::string>>& bundles, Asker asker) {
    const auto done = bundles ? fetch(root, *bundles, asker) : base::fail(bundles.error());
    const int status = done ? *done : asker.error(done.error());
    asker.end(status);
    return status;
}

/// Serves all callers that wait at the socket. If no caller waits, the timer started the service: the
/// function then fetches the bundles that the configuration names, and returns the exit status.
int serve(const base::Root& root, int listening) {
    const auto next = [listening] {
        return UniqueFd(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    };
    UniqueFd socket = next();
    if (!socket)
        return fetch_for(root, std::vector<std::string>(), Asker());
    for (; socket; socket = next()) {
        const auto bundles = client::read_fetch_request(socket.get());
        (void)fetch_for(root, bundles, Asker(std::move(socket)));
    }
    return 0;
}

int run(const Options& options) {
    const auto root = base::Root::open(options.root);
    if (!root)
        return Asker().error(root.error());
    if (options.discover)
        return print_discovered(*root, options.words);
    if (sd_listen_fds(1) != 1)
        return fetch_for(*root, options.words, Asker());
    (void)::fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK);
    return serve(*root, SD_LISTEN_FDS_START);
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status = base::parse_arguments(
            std::span(argv, static_cast<std::size_t>(argc)), {"gpuhost-fetch", usage},
            {{"--root=", &options.root}, {"--discover", nullptr, &options.discover}}, &options.words))
        return *status;
    (void)std::signal(SIGPIPE, SIG_IGN);
    return run(options);
}
