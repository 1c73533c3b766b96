// SPDX-License-Identifier: Apache-2.0
// gpuhost-cluster: connects this host to a Kubernetes cluster. Only this program connects to the API server;
// gpuhostd gives it the state of the host.
#include "daemon/base/arguments.hpp"
#include "daemon/base/become.hpp"
#include "daemon/base/hex.hpp"
#include "daemon/base/log.hpp"
#include "daemon/cluster/kube/enrolment.hpp"
#include "daemon/cluster/node/cluster_settings.hpp"
#include "daemon/host/notify.hpp"
#include "daemon/programs/gpuhost_cluster/fleet.hpp"
#include "daemon/programs/gpuhost_cluster/program.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <span>

#include <unistd.h>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Json;
using base::Result;
using cluster::Time;

constexpr const char* usage = R"(gpuhost-cluster [OPTIONS]

Reports to Kubernetes whether this host is ready for pods with GPUs. Started by systemd; see
gpuhost-cluster(8).

  --root=DIR         use the tree below DIR (default: /)
  --kubeconfig=FILE  kubeconfig for the API server (default: the one that
                     'gpuhostctl cluster join' wrote, or the administrator's
                     /etc/gpuhost/cluster/kubeconfig)
  --check            check that the API server answers and has this host's
                     Node, and exit
  --fleet            print the upgrade status of all hosts as JSON, and
                     exit; gpuhostctl fleet status shows it
  --follow           with --fleet: print it again after each change
  -h, --help         print this
      --version      print the version
)";

constexpr const char* user = "gpuhost"; ///< user that the service runs as
constexpr Time check_allowed{30'000};
constexpr Time between_stats{30'000}; ///< between two checks of the credentials' files

struct Options {
    std::string root = "/";
    std::string kubeconfig;
    bool check = false;
    bool fleet = false;
    bool follow = false;

    [[nodiscard]] bool is_service() const { return !check && !fleet; }
};

void log_line(const std::string& line) {
    base::log::info(line);
}

/// Returns the name of this host's Node: the configured one, or the kubelet's default.
Result<std::string> node_name(const base::Root& root, const core::Settings& settings) {
    if (std::string configured = cluster::cluster_settings(settings).node; !configured.empty())
        return configured;
    GPUHOST_TRY(name, root.read_line("/proc/sys/kernel/hostname"));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

/// Requests a certificate for this host, and waits until an administrator approves it.
Result<void> join(const base::Root& root, const std::string& node, StatusFile& status) {
    GPUHOST_TRY(api, cluster::Api::open(root, cluster::bootstrap_kubeconfig));
    bool issued = false;
    cluster::Enrolment enrolment(root, api, node, log_line, [&issued] { issued = true; });
    host::notify::ready("joining");
    while (!issued) {
        enrolment.turn();
        status.write(
            {{"state", "joining"},
             {"server", api.config().server},
             {"user", api.config().user},
             {"node", node},
             {"request", enrolment.name()},
             {"retry_at", enrolment.retry_at()},
             {"error", enrolment.error().message.empty() ? Json() : base::to_json(enrolment.error())}});
        const Time most = enrolment.due().value_or(cluster::now() + between_stats) - cluster::now();
        api.wait(std::clamp(most, Time(0), between_stats));
        if (auto refreshed = api.refresh(); refreshed && *refreshed)
            log_line("loaded other credentials for joining");
    }
    const Json made = cluster::kubeconfig_of(api.config(), api.credentials().authorities);
    return root.write_atomic(cluster::own_kubeconfig, base::dump_pretty(made) + "\n", 0600);
}

/// Reads this host's Node once and prints the result to stdout. Returns the exit status.
Result<int> check(cluster::Api& api, const std::string& node) {
    const std::string& server = api.config().server;
    std::optional<cluster::ApiAnswer> answer;
    (void)api.get("/api/v1/nodes/" + base::percent_encoded(node),
                  [&answer](cluster::ApiAnswer&& got) { answer = std::move(got); });
    const Time end = cluster::now() + check_allowed;
    while (!answer) {
        const Time left = end - cluster::now();
        if (left <= Time(0))
            return base::fail(Errc::Timeout, server + " does not answer");
        api.wait(left);
    }
    if (answer->status == 404)
        return base::fail(Errc::NotFound, server + ": node '" + node + "' not found",
                          "Wait until the kubelet creates it, or set NodeName= in section [Cluster] of "
                          "gpuhostd.conf(5) to its name.");
    if (!answer->done())
        return base::fail(answer->error);
    std::printf("%s answers, and has node '%s'\n", server.c_str(), node.c_str());
    return 0;
}

/// Returns true if this host has a certificate of its own that has not expired. An expired certificate cannot
/// request its successor.
bool has_own_certificate(const base::Root& root) {
    if (!root.exists(cluster::own_kubeconfig))
        return false;
    const auto until = cluster::certificate_until(root);
    return until && *until > base::realtime_us() / 1'000'000;
}

/// Returns the path of the kubeconfig to use. Empty: the service must join the cluster first.
Result<std::string> kubeconfig(const base::Root& root, const Options& options) {
    if (!options.kubeconfig.empty())
        return options.kubeconfig;
    if (root.exists(cluster::given_kubeconfig))
        return std::string(cluster::given_kubeconfig);
    if (has_own_certificate(root))
        return std::string(cluster::own_kubeconfig);
    if (!root.exists(cluster::bootstrap_kubeconfig))
        return base::fail(Errc::NotFound, "this host has no credentials for a cluster",
                          "Join one with: gpuhostctl cluster join; gpuhost-cluster(8) shows how.");
    if (!options.is_service())
        return base::fail(Errc::NotFound, "this host has no certificate yet",
                          "Check its request with: gpuhostctl cluster status");
    return std::string();
}

/// Becomes the user of the service, or `nobody` on a machine without this user.
Result<void> drop_root() {
    auto became = base::become(user);
    return !became && became.error().code == Errc::NotFound ? base::become("nobody") : became;
}

void log_notes(const cluster::Api& api) {
    for (const std::string& note : api.notes())
        base::log::warning(note);
}

/// Runs the service until an error occurs. Begins again when gpuhostd has read other settings, as after a
/// restart.
Result<void> serve(const base::Root& root, const Options& options) {
    StatusFile status(root, cluster::status_file);
    core::Settings settings = cluster::load_cluster_settings(root);
    for (;;) {
        GPUHOST_TRY(path, kubeconfig(root, options));
        if (path.empty()) { // the approval may take days, in which the settings may change
            GPUHOST_TRY(joining, node_name(root, settings));
            GPUHOST_CHECK(join(root, joining, status));
            path = cluster::own_kubeconfig;
            settings = cluster::reload_cluster_settings(root, settings);
        }
        GPUHOST_TRY(node, node_name(root, settings));
        GPUHOST_TRY(api, cluster::Api::open(root, path));
        log_notes(api);
        GPUHOST_TRY(daemon, client::AsyncClient::connect());
        const bool renews = path == cluster::own_kubeconfig;
        GPUHOST_CHECK(ClusterProgram(root, daemon, api, node, settings, renews, status).run());
        log_line("section [Cluster] of the configuration has changed: starting again with it");
    }
}

Result<int> run(const Options& options) {
    const bool is_root = options.fleet && ::geteuid() == 0 && options.root == "/";
    if (is_root && options.kubeconfig.empty())
        GPUHOST_CHECK(drop_root());
    GPUHOST_TRY(root, base::Root::open(options.root));
    if (options.is_service()) {
        GPUHOST_CHECK(serve(root, options));
        return 0;
    }
    GPUHOST_TRY(node, node_name(root, cluster::load_cluster_settings(root)));
    GPUHOST_TRY(path, kubeconfig(root, options));
    GPUHOST_TRY(api, cluster::Api::open(root, path));
    if (is_root && !options.kubeconfig.empty()) // only root may be able to read an administrator's file
        GPUHOST_CHECK(drop_root());
    log_notes(api);
    if (options.check)
        return check(api, node);
    const bool is_own = options.kubeconfig.empty();
    GPUHOST_CHECK(show_fleet(is_own ? &root : nullptr, api, options.follow));
    return 0;
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status =
            base::parse_arguments(std::span(argv, static_cast<std::size_t>(argc)), {"gpuhost-cluster", usage},
                                  {{"--root=", &options.root},
                                   {"--kubeconfig=", &options.kubeconfig},
                                   {"--check", nullptr, &options.check},
                                   {"--fleet", nullptr, &options.fleet},
                                   {"--follow", nullptr, &options.follow}}))
        return *status;
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto status = run(options);
    if (status)
        return *status;
    if (options.fleet)
        std::printf("%s\n", base::dump({{"error", base::to_json(status.error())}}).c_str());
    base::log::error(status.error().message);
    if (!status.error().hint.empty())
        base::log::error(status.error().hint);
    return base::info(status.error().code).exit_code;
}
