// SPDX-License-Identifier: Apache-2.0
// gpuhost-cluster: this host's part in a Kubernetes cluster. It alone speaks to the API server; what it knows of the host it
// asks the daemon.
#include "daemon/base/arguments.hpp"
#include "daemon/base/log.hpp"
#include "daemon/cluster/cluster_settings.hpp"
#include "daemon/cluster/enrolment.hpp"
#include "daemon/cluster/host_agent.hpp"
#include "daemon/ctl/client.hpp"
#include "daemon/host/notify.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <span>

namespace {

using namespace gpuhost; // NOLINT: this file only
using base::Errc;
using base::Json;
using base::Result;
using cluster::Time;

constexpr const char* usage = R"(gpuhost-cluster [OPTIONS]

Tells Kubernetes whether this host is ready for pods with GPUs. Started by systemd; see gpuhost-cluster(8).

  --root=DIR         look at the tree below DIR (default: /)
  --kubeconfig=FILE  how to reach the API server (default: what
                     'gpuhostctl cluster join' got, or the administrator's
                     /etc/gpuhost/cluster/kubeconfig)
  --check            say whether the API server answers and knows this host's
                     Node, and exit
  -h, --help         print this
      --version      print the version
)";

constexpr Time look_again{300'000}; ///< at the host: not all that the daemon tells of comes with a signal
constexpr Time between_looks{500};
constexpr Time daemon_restarts{15'000}; ///< before it is said that it is not there
constexpr Time between_stats{30'000};   ///< of the credentials' files
constexpr Time check_takes{30'000};

struct Options {
    std::string root = "/";
    std::string kubeconfig;
    bool check = false;
};

void say(const std::string& line) {
    base::log::info(line);
}

/// For gpuhostctl and systemctl, whenever it says something else.
class StatusFile {
  public:
    explicit StatusFile(const base::Root& root) : root_(root) {}

    void write(const Json& document) {
        std::string text = base::dump(document) + "\n";
        if (text == written_)
            return;
        written_ = std::move(text);
        host::notify::status(base::string_or(document, "state", ""));
        if (const auto written = root_.write_atomic(cluster::status_file, written_); !written)
            base::log::warning(written.error().message);
    }

  private:
    const base::Root& root_;
    std::string written_;
};

/// Until this host has a certificate, which needs a person.
Result<void> join(const base::Root& root, const std::string& node, StatusFile& status) {
    GPUHOST_TRY(api, cluster::Api::open(root, cluster::bootstrap_kubeconfig));
    bool issued = false;
    cluster::Enrolment enrolment(root, api, node, say, [&issued] { issued = true; });
    host::notify::ready("joining");
    while (!issued) {
        enrolment.turn();
        status.write(
            {{"state", "joining"},
             {"server", api.config().server},
             {"user", api.config().user},
             {"node", node},
             {"request", enrolment.name()},
             {"error", enrolment.error().message.empty() ? Json() : base::to_json(enrolment.error())}});
        const Time most = enrolment.due().value_or(cluster::now() + between_stats) - cluster::now();
        api.wait(std::clamp(most, Time(0), between_stats));
        if (auto refreshed = api.refresh(); refreshed && *refreshed)
            say("took up other credentials to join with");
    }
    const Json made = cluster::kubeconfig_of(api.config(), api.credentials().authorities);
    return root.write_atomic(cluster::own_kubeconfig, base::dump_pretty(made) + "\n", 0600);
}

/// Asks for the next certificate in good time, with the one that there is.
class Renewal {
  public:
    Renewal(const base::Root& root, cluster::Api& api, std::string node)
        : root_(root), api_(api), node_(std::move(node)) {
        plan();
    }

    [[nodiscard]] std::optional<Time> due() const { return enrolment_ ? enrolment_->due() : std::nullopt; }

    /// True once there is a new one.
    bool turn() {
        if (!enrolment_ && base::realtime_us() / 1'000'000 >= at_)
            enrolment_ =
                std::make_unique<cluster::Enrolment>(root_, api_, node_, say, [this] { issued_ = true; });
        if (enrolment_)
            enrolment_->turn();
        if (!issued_)
            return false;
        issued_ = false;
        enrolment_.reset();
        plan();
        return true;
    }

  private:
    void plan() {
        const auto due = cluster::renewal_due(root_);
        if (!due)
            base::log::warning(due.error().message);
        at_ = due.value_or(0);
    }

    const base::Root& root_;
    cluster::Api& api_;
    std::string node_;
    std::uint64_t at_ = 0; ///< seconds since 1970
    bool issued_ = false;
    std::unique_ptr<cluster::Enrolment> enrolment_;
};

/// The loop: what the daemon says goes to the agent, and what the agent says to the journal and the status file.
class Program {
  public:
    Program(ctl::Client& daemon, cluster::Api& api, cluster::HostAgent& agent, Renewal* renewal,
            StatusFile& status)
        : daemon_(daemon), api_(api), agent_(agent), renewal_(renewal), status_(status) {}

    Result<void> run() {
        GPUHOST_CHECK(daemon_.subscribe());
        GPUHOST_TRY(running, daemon_.running());
        if (!running)
            lose_daemon();
        host::notify::ready("");
        for (;;) {
            look();
            agent_.turn();
            refresh();
            status_.write(agent_.document());
            GPUHOST_TRY(event, daemon_.wait(std::max(Time(0), next() - cluster::now()), api_.descriptor()));
            take(event);
            api_.work();
        }
    }

  private:
    [[nodiscard]] Time next() const {
        Time soonest = std::min(look_at_, refresh_at_);
        for (const auto& due : {agent_.due(), renewal_ ? renewal_->due() : std::nullopt})
            soonest = std::min(soonest, due.value_or(soonest));
        return soonest;
    }

    void take(ctl::Client::Event event) {
        using Event = ctl::Client::Event;
        if (event == Event::Gone)
            lose_daemon();
        if (event == Event::Came || event == Event::Changed || event == Event::Ended) {
            gone_ = false;
            look_at_ = std::min(look_at_, std::max(cluster::now(), looked_at_ + between_looks));
        }
    }

    void lose_daemon() {
        gone_ = true;
        look_at_ = cluster::now() + daemon_restarts;
    }

    void look() {
        if (cluster::now() < look_at_)
            return;
        looked_at_ = cluster::now();
        look_at_ = looked_at_ + look_again;
        if (gone_)
            return agent_.set_readiness(cluster::readiness_without_daemon(
                {Errc::Failed, "gpuhostd is not running", "Start it with: systemctl start gpuhostd"}));
        const auto host = daemon_.describe_host();
        agent_.set_readiness(host ? cluster::readiness_of(*host)
                                  : cluster::readiness_without_daemon(host.error()));
    }

    void refresh() {
        const bool renewed = renewal_ != nullptr && renewal_->turn();
        if (!renewed && cluster::now() < refresh_at_)
            return;
        refresh_at_ = cluster::now() + between_stats;
        const auto refreshed = api_.refresh();
        if (!refreshed) {
            base::log::warning("the credentials stay as they were: " + refreshed.error().message);
        } else if (*refreshed) {
            say("took up new credentials");
            agent_.retry();
        }
    }

    ctl::Client& daemon_;
    cluster::Api& api_;
    cluster::HostAgent& agent_;
    Renewal* renewal_; ///< null: the certificate is an administrator's
    StatusFile& status_;
    bool gone_ = false; ///< the daemon
    Time look_at_{0};
    Time looked_at_{0};
    Time refresh_at_ = cluster::now() + between_stats;
};

/// The exit status; what is found goes to stdout.
Result<int> check(cluster::Api& api, const std::string& node) {
    const std::string& server = api.config().server;
    std::optional<cluster::ApiAnswer> answer;
    (void)api.get("/api/v1/nodes/" + cluster::percent_encoded(node),
                  [&answer](cluster::ApiAnswer&& got) { answer = std::move(got); });
    const Time end = cluster::now() + check_takes;
    while (!answer) {
        const Time left = end - cluster::now();
        if (left <= Time(0))
            return base::fail(Errc::Timeout, server + " does not answer");
        api.wait(left);
    }
    if (answer->status == 404)
        return base::fail(Errc::NotFound, server + " knows no node '" + node + "'",
                          "The kubelet makes it; if it has another name, set NodeName= in section [Cluster] "
                          "of gpuhostd.conf(5).");
    if (!answer->done())
        return base::fail(answer->error);
    std::printf("%s answers, and knows node '%s'\n", server.c_str(), node.c_str());
    return 0;
}

/// As the kubelet names its Node, unless it is told otherwise.
Result<std::string> node_name(const base::Root& root, const cluster::ClusterSettings& settings) {
    if (!settings.node.empty())
        return settings.node;
    GPUHOST_TRY(name, root.read_line("/proc/sys/kernel/hostname"));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

/// Whose certificate has ended can't ask for the next one with it.
bool has_own_certificate(const base::Root& root) {
    if (!root.exists(cluster::own_kubeconfig))
        return false;
    const auto until = cluster::certificate_until(root);
    return until && *until > base::realtime_us() / 1'000'000;
}

/// Which kubeconfig counts; joins first where there is none yet.
Result<std::string> kubeconfig(const base::Root& root, const Options& options, const std::string& node,
                               StatusFile& status) {
    if (!options.kubeconfig.empty())
        return options.kubeconfig;
    if (root.exists(cluster::given_kubeconfig))
        return std::string(cluster::given_kubeconfig);
    if (has_own_certificate(root))
        return std::string(cluster::own_kubeconfig);
    if (!root.exists(cluster::bootstrap_kubeconfig))
        return base::fail(Errc::NotFound, "this host has no credentials for a cluster",
                          "Join one with: gpuhostctl cluster join; gpuhost-cluster(8) shows how.");
    if (!options.check)
        GPUHOST_CHECK(join(root, node, status));
    return std::string(cluster::own_kubeconfig);
}

Result<int> run(const Options& options) {
    GPUHOST_TRY(root, base::Root::open(options.root));
    const auto settings =
        cluster::cluster_settings(core::load_settings(root, {cluster::cluster_setting_keys()}).settings);
    GPUHOST_TRY(node, node_name(root, settings));
    StatusFile status(root);
    GPUHOST_TRY(path, kubeconfig(root, options, node, status));
    GPUHOST_TRY(api, cluster::Api::open(root, path));
    for (const std::string& note : api.notes())
        base::log::warning(note);
    if (options.check)
        return check(api, node);
    GPUHOST_TRY(daemon, ctl::Client::connect(false));
    cluster::HostAgent agent(api, node, settings.wish, say);
    std::optional<Renewal> renewal;
    if (path == cluster::own_kubeconfig)
        renewal.emplace(root, api, node);
    GPUHOST_CHECK(Program(daemon, api, agent, renewal ? &*renewal : nullptr, status).run());
    return 0;
}

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    if (const auto status =
            base::parse_arguments(std::span(argv, static_cast<std::size_t>(argc)), {"gpuhost-cluster", usage},
                                  {{"--root=", &options.root},
                                   {"--kubeconfig=", &options.kubeconfig},
                                   {"--check", nullptr, &options.check}}))
        return *status;
    (void)std::signal(SIGPIPE, SIG_IGN);
    const auto status = run(options);
    if (status)
        return *status;
    base::log::error(status.error().message);
    if (!status.error().hint.empty())
        base::log::error(status.error().hint);
    return base::info(status.error().code).exit_code;
}
