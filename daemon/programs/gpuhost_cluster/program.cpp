// SPDX-License-Identifier: Apache-2.0
#include "daemon/programs/gpuhost_cluster/program.hpp"

#include "daemon/base/log.hpp"
#include "daemon/cluster/kube/paths.hpp"
#include "daemon/cluster/node/metrics.hpp"
#include "daemon/cluster/node/metrics_socket.hpp"
#include "daemon/cluster/upgrade/patch.hpp"
#include "daemon/host/notify.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

namespace gpuhost {

using base::Errc;
using base::Json;
using base::Result;
using cluster::Time;

namespace {

/// Time between two observations without a signal. Not every change of the host causes a signal.
constexpr Time poll_interval{300'000};
constexpr Time between_polls{500};
/// How long gpuhostd may be off the bus before it is reported as stopped.
constexpr Time daemon_restarts{15'000};
/// Time between two checks of the files of the credentials and the policy, and between two attempts to serve
/// metrics.
constexpr Time between_stats{30'000};

void log_line(const std::string& line) {
    base::log::info(line);
}

} // namespace

void StatusFile::write(const Json& document) {
    write(base::dump(document) + "\n");
}

void StatusFile::write(std::string text) {
    if (text == written_)
        return;
    written_ = std::move(text);
    if (const auto written = root_.write_atomic(path_, written_, 0644); !written)
        base::log::warning(written.error().message);
}

Renewal::Renewal(const base::Root& root, cluster::Api& api, std::string node)
    : root_(root), api_(api), node_(std::move(node)) {
    plan();
}

std::optional<Time> Renewal::due() const {
    return enrolment_ ? enrolment_->due() : std::nullopt;
}

bool Renewal::turn() {
    if (!enrolment_ && base::realtime_us() / 1'000'000 >= at_)
        enrolment_ =
            std::make_unique<cluster::Enrolment>(root_, api_, node_, log_line, [this] { issued_ = true; });
    if (enrolment_)
        enrolment_->turn();
    if (!issued_)
        return false;
    issued_ = false;
    enrolment_.reset();
    plan();
    return true;
}

void Renewal::plan() {
    const auto due = cluster::renewal_due(root_);
    if (!due)
        base::log::warning(due.error().message);
    at_ = due.value_or(0);
}

ClusterProgram::ClusterProgram(const base::Root& root, client::AsyncClient& daemon, cluster::Api& api,
                               const std::string& node, core::Settings& settings, bool renews,
                               StatusFile& status)
    : root_(root), daemon_(daemon), api_(api), loaded_(settings),
      settings_(cluster::cluster_settings(settings)), status_(status),
      policy_file_(root, cluster::policy_status_file), metrics_file_(root, cluster::metrics_file),
      refresh_at_(cluster::now() + between_stats), devices_(root), health_events_(api, log_line),
      policy_(api, &root, log_line), desired_(daemon, log_line),
      observer_(
          daemon, [this](const DaemonState& state) { return host_ ? host_->wants(state) : std::nullopt; },
          [this](const DaemonState& state) { on_observed(state); }),
      certificate_until_(cluster::expiry_of(api.credentials())),
      agent_(api, node, settings_.desired, log_line, [&]() -> cluster::NodeAuthor* {
          if (!settings_.upgrades)
              return nullptr;
          host_.emplace(daemon, root, node, log_line, settings_.evicts_as_own ? &api : nullptr);
          upgrade_.emplace(api, node, *host_, log_line);
          return &*upgrade_;
      }()) {
    agent_.on_condition([this](const Json& of, const cluster::Condition* before,
                               const cluster::Condition& after) { send_health(of, before, after); });
    if (renews)
        renewal_.emplace(root, api, node);
    if (settings_.candidate) {
        gates_.emplace(root, log_line);
        leader_.emplace(api, *gates_, node, log_line);
    }
}

Result<void> ClusterProgram::run() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, api_.descriptor(), &readable) != 0)
        return base::fail(base::errno_error("waiting for the API server", errno));
    listen();
    GPUHOST_CHECK(daemon_.subscribe());
    lose_daemon(); // the bus then reports whether gpuhostd runs
    host::notify::ready("");
    while (!outdated_) {
        observe();
        see_devices();
        turn();
        refresh();
        report();
        GPUHOST_CHECK(wait());
        api_.work();
        if (metrics_server_)
            metrics_server_->turn();
    }
    return {};
}

/// Starts the metrics server. If that fails, logs the error once and continues without metrics; refresh()
/// tries again, because the port may become free.
void ClusterProgram::listen() {
    if (settings_.metrics_listen.empty() || metrics_server_)
        return;
    auto server = cluster::metrics_socket(settings_.metrics_listen).and_then([this](base::UniqueFd socket) {
        return metrics::Server::start(std::move(socket), [this]() -> const std::string& { return metrics_; });
    });
    if (!server) {
        if (std::exchange(listen_trouble_, server.error().message) == server.error().message)
            return;
        base::log::warning(server.error().message);
        if (!server.error().hint.empty())
            base::log::warning(server.error().hint);
        return;
    }
    metrics_server_ = std::move(*server);
    watch(metrics_server_->descriptor());
    log_line("serves metrics at http://" + settings_.metrics_listen + "/metrics");
}

/// Adds a descriptor to epoll. Adding a descriptor again changes nothing; the kernel removes closed
/// descriptors.
void ClusterProgram::watch(int descriptor) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (descriptor >= 0)
        (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &readable);
}

/// Runs the work that is due in each part. Because of the order, a decision is written to the Node in the
/// same iteration in which it is made.
void ClusterProgram::turn() {
    policy_.turn();
    on_policy();
    if (leader_)
        leader_->turn();
    if (host_)
        host_->turn();
    if (upgrade_)
        upgrade_->turn();
    agent_.turn();
    health_events_.turn();
    publish_desired();
}

void ClusterProgram::see_devices() {
    if (!devices_.changed())
        return;
    read_devices();
    publish();
}

void ClusterProgram::read_devices() {
    devices_.refresh();
    offers_.see(devices_.facts());
    // Whether an absent offer is final depends on what gpuhostd has left to do since then.
    if (!devices_.facts().offer && !offers_.is_observed())
        observe_soon();
}

/// Observes gpuhostd as soon as the last observation allows.
void ClusterProgram::observe_soon() {
    observe_at_ = std::min(observe_at_, std::max(cluster::now(), observed_at_ + between_polls));
}

/// Passes what the Node must show to the agent, once gpuhostd has answered or is known to be down.
void ClusterProgram::publish() {
    if (!observed_)
        return;
    cluster::Readiness readiness = readiness_;
    readiness.devices = node_devices(devices_.facts(), readiness.settled && offers_.is_observed());
    agent_.set_readiness(std::move(readiness));
}

/// Creates an event for news of the GPUs' health.
void ClusterProgram::send_health(const Json& node, const cluster::Condition* before,
                                 const cluster::Condition& after) {
    if (after.type != cluster::gpus_healthy || !health_news_.is_news(before, after))
        return;
    const Json& metadata = base::member(node, "metadata");
    const std::string uid = base::string_or(metadata, "uid", "");
    health_events_.send(uid + " " + after.message,
                        cluster::node_event(base::string_or(metadata, "name", ""), uid, "GPUHealth",
                                            {after.status == "False", after.message}, base::realtime_us()));
}

/// Sends the cluster's desired state to gpuhostd, unless the policy has problems. While an upgrade is in
/// progress, the toolkit stays as it is.
void ClusterProgram::publish_desired() {
    const cluster::Policy* const policy = policy_.policy();
    if (policy == nullptr || !policy->problems.empty() || (upgrade_ && !upgrade_->knows_node()))
        return;
    if (!upgrade_)
        desired_.publish({policy->toolkit, {}, {}});
    else if (upgrade_->is_quiet())
        desired_.publish({policy->toolkit, upgrade_->offer(), upgrade_->scheduled()});
    else
        desired_.publish_driver(upgrade_->offer(), upgrade_->scheduled());
}

void ClusterProgram::on_policy() {
    if (policy_.changes() == policy_seen_)
        return;
    policy_seen_ = policy_.changes();
    if (upgrade_)
        upgrade_->set_policy(policy_.policy());
    if (leader_)
        leader_->set_policy(policy_.policy());
}

Time ClusterProgram::next() const {
    Time soonest = observer_.busy() ? refresh_at_ : std::min(observe_at_, refresh_at_);
    for (const auto& due :
         {agent_.due(), policy_.due(), desired_.due(), renewal_ ? renewal_->due() : std::nullopt,
          host_ ? host_->due() : std::nullopt, upgrade_ ? upgrade_->due() : std::nullopt,
          health_events_.due(), leader_ ? leader_->due() : std::nullopt,
          metrics_server_ ? metrics_server_->due() : std::nullopt})
        soonest = std::min(soonest, due.value_or(soonest));
    return soonest;
}

Result<void> ClusterProgram::wait() {
    // A part may have closed its descriptor and opened another with the same number, so add them each time.
    watch(host_ ? host_->descriptor() : -1);
    watch(gates_ ? gates_->descriptor() : -1);
    watch(devices_.descriptor());
    GPUHOST_TRY(event, daemon_.wait(std::max(Time(0), next() - cluster::now()), epoll_.get()));
    handle(event);
    return {};
}

void ClusterProgram::handle(client::AsyncClient::Event event) {
    using Event = client::AsyncClient::Event;
    if (event == Event::Gone)
        lose_daemon();
    if (event == Event::Came || event == Event::Changed || event == Event::Ended) {
        gone_ = false;
        observe_soon();
    }
}

void ClusterProgram::lose_daemon() {
    gone_ = true;
    observer_.cancel();
    observe_at_ = cluster::now() + daemon_restarts;
}

void ClusterProgram::observe() {
    if (observer_.busy() || cluster::now() < observe_at_)
        return;
    read_devices();
    observed_at_ = cluster::now();
    observe_at_ = observed_at_ + poll_interval;
    offers_.begin();
    if (!gone_)
        return observer_.begin();
    DaemonState state;
    state.host =
        base::fail(Errc::Failed, "gpuhostd is not running", "Start it with: systemctl start gpuhostd");
    on_observed(state);
}

/// Returns true if the files have other settings than when this program began. Reads them only after gpuhostd
/// has read them, so that a file takes effect in both at the same time.
bool ClusterProgram::has_other_settings(const Json& host) {
    const Json& read = base::member(host, "config_read_us");
    if (read == config_read_)
        return false;
    config_read_ = read;
    loaded_ = cluster::reload_cluster_settings(root_, loaded_);
    return cluster::cluster_settings(loaded_) != settings_;
}

void ClusterProgram::on_observed(const DaemonState& state) {
    const auto& host = state.host;
    if (host && has_other_settings(*host))
        outdated_ = true;
    if (!host) // ask again soon: a gpuhostd that hung sends no signal when it continues
        observe_at_ = std::min(observe_at_, cluster::now() + daemon_restarts);
    if (host)
        desired_.see(*host);
    else
        desired_.lose();
    if (host_ && host)
        host_->see(state);
    else if (host_)
        host_->lose();
    readiness_ = host ? cluster::readiness_of(*host) : cluster::readiness_without_daemon(host.error());
    observed_ = true;
    offers_.end();
    read_devices();
    publish();
}

void ClusterProgram::refresh() {
    const bool renewed = renewal_ && renewal_->turn();
    if (!renewed && cluster::now() < refresh_at_)
        return;
    refresh_at_ = cluster::now() + between_stats;
    policy_.refresh();
    read_devices();
    publish();
    listen();
    const auto refreshed = api_.refresh();
    if (!refreshed) {
        base::log::warning("keeping the previous credentials: " + refreshed.error().message);
    } else if (*refreshed) {
        log_line("loaded new credentials");
        certificate_until_ = cluster::expiry_of(api_.credentials());
        agent_.retry();
        health_events_.retry();
        policy_.retry();
        if (upgrade_)
            upgrade_->retry();
        if (leader_)
            leader_->retry();
    }
}

void ClusterProgram::report() {
    Json document = agent_.document();
    document["certificate_until"] = certificate_until_;
    if (upgrade_)
        document["upgrade"] = upgrade_->document();
    if (leader_)
        document["leader"] = leader_->document();
    if (const std::string state = base::string_or(document, "state", ""); state != state_) {
        host::notify::status(state);
        state_ = state;
    }
    metrics_ = cluster::metrics_text(document);
    metrics_file_.write(metrics_);
    status_.write(document);
    policy_file_.write({{"policy", policy_.document()}});
}

} // namespace gpuhost
