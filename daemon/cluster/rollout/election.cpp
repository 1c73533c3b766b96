// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/election.hpp"

#include "daemon/cluster/kube/kube_time.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Error;
using base::Json;

namespace {

constexpr Seconds lease_duration{15};
constexpr Time renew_every{5'000};
constexpr Time first_wait{1'000};
constexpr Time most_wait{30'000};
constexpr unsigned conflict = 409;

} // namespace

Election::Election(Api& api, std::string candidate, Callbacks callbacks, LogLine log_line)
    : api_(api), candidate_(std::move(candidate)), callbacks_(std::move(callbacks)),
      log_(std::move(log_line)), backoff_(first_wait, most_wait),
      watch_(api, leases_path, name_selector(leader_lease),
             {[this](Json&& lease) { on_lease(lease_facts(lease)); },
              [this](const std::set<std::string>& names) {
                  if (names.empty())
                      lose_lease();
              },
              [this](Json&&) { lose_lease(); },
              [this](const Error& trouble) {
                  if (trouble.message != last_error_ && trouble.code == base::Errc::AccessDenied)
                      log_("can't watch the leader's Lease: " + trouble.message);
                  last_error_ = trouble.message;
              }}) {}

std::optional<Time> Election::due() const {
    std::optional<Time> due = watch_.due();
    if (!in_flight_)
        sooner(due, write_due_);
    sooner(due, leads_until_);
    return due;
}

void Election::turn() {
    watch_.turn();
    if (leads_until_ && now() >= *leads_until_)
        stop("its Lease could not be renewed in time");
    if (!write_due_ || now() < *write_due_ || in_flight_)
        return;
    write_due_.reset();
    if (!leads_until_ && now() < lease_ends())
        write_due_ = lease_ends() + backoff_.next();
    else
        write(!leads_until_);
}

void Election::retry() {
    backoff_.reset();
    watch_.retry();
}

void Election::on_lease(LeaseFacts&& lease) {
    if (!lease_ || lease.renewed != lease_->renewed || lease.holder != lease_->holder)
        lease_seen_ = now();
    lease_ = std::move(lease);
    if (leads_until_ && lease_->holder != candidate_)
        return stop("node '" + lease_->holder + "' leads");
    if (!leads_until_ && !in_flight_)
        write_due_ = lease_ends() > now() ? lease_ends() + backoff_.next() : now();
}

void Election::lose_lease() {
    lease_.reset();
    if (leads_until_)
        stop("its Lease was removed");
    if (!in_flight_)
        write_due_ = now();
}

/// Returns the time from which this host may acquire the Lease: one duration of the Lease after the last
/// change that this host saw; 0 if the Lease has no holder or is held by this host.
Time Election::lease_ends() const {
    const bool is_free = !lease_ || lease_->holder.empty() || lease_->holder == candidate_;
    return is_free ? Time(0) : lease_seen_ + std::chrono::duration_cast<Time>(lease_->duration);
}

/// Acquires or renews the Lease, on the condition that it still has the version in lease_.
void Election::write(bool acquires) {
    in_flight_ = true;
    const std::uint64_t time = base::realtime_us();
    Json lease = {
        {"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}, {"metadata", {{"name", leader_lease}}}};
    if (lease_)
        lease = renewal(*lease_, time);
    if (acquires)
        lease["spec"] = {{"holderIdentity", candidate_},
                         {"leaseDurationSeconds", lease_duration.count()},
                         {"acquireTime", kube_micro_time(time)},
                         {"renewTime", kube_micro_time(time)},
                         {"leaseTransitions", lease_ ? lease_->transitions + 1 : 1}};
    const auto done = [this, acquires, asked = now()](ApiAnswer&& answer) {
        answered(std::move(answer), asked, acquires);
    };
    if (lease_)
        (void)api_.patch(lease_path(leader_lease), PatchType::Merge, lease, done);
    else
        (void)api_.create(leases_path, lease, done);
}

void Election::answered(ApiAnswer&& answer, Time asked, bool acquires) {
    in_flight_ = false;
    const bool led = leads_until_.has_value();
    if (!answer.done()) {
        // A conflict means that another candidate was faster, which the watch will report. Other errors are
        // retried.
        const Time wait = std::max<Time>(backoff_.next(), answer.retry_after.value_or(Seconds(0)));
        write_due_ = now() + (led ? std::min(wait, renew_every) : wait);
        if (answer.status != conflict && answer.error.message != last_error_)
            log_("can't write the leader's Lease: " + answer.error.message);
        last_error_ = answer.status == conflict ? "" : answer.error.message;
        return;
    }
    backoff_.reset();
    last_error_.clear();
    lease_ = lease_facts(answer.body);
    lease_seen_ = now();
    write_due_ = asked + renew_every;
    // Do not lead again after a renewal whose answer arrived too late: requests of the ended term may still
    // take effect, and only a new term makes them void.
    if (!led && !acquires)
        return;
    leads_until_ = asked + std::chrono::duration_cast<Time>(lease_duration);
    if (!led)
        callbacks_.on_started(*lease_);
}

void Election::stop(const std::string& why) {
    leads_until_.reset();
    if (lease_ && !in_flight_)
        write_due_ = lease_seen_ + std::chrono::duration_cast<Time>(lease_duration) + backoff_.next();
    callbacks_.on_stopped(why);
}

} // namespace gpuhost::cluster
