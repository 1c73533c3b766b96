// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/upgrade/gpu_users.hpp"

#include "daemon/base/hex.hpp"
#include "daemon/base/parse.hpp"

#include <algorithm>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::member;

namespace {

constexpr Time between_tries{5'000};
constexpr unsigned most_failures = 6;
/// How long a server may answer only with errors, before the claim counts as a claim of a GPU.
constexpr Time most_patience{120'000};
constexpr unsigned not_found = 404;
constexpr unsigned forbidden = 403;
constexpr unsigned too_many = 429;
/// Versions of the API group resource.k8s.io: `v1` exists from Kubernetes 1.34 on, `v1beta1` from 1.32 on.
constexpr std::string_view stable = "v1";
constexpr std::string_view beta = "v1beta1";

const Json& allocated(const Json& claim) {
    return member(member(member(member(claim, "status"), "allocation"), "devices"), "results");
}

/// Returns true if a claim is for GPUs, or for channels between hosts (IMEX): NVIDIA's driver serves both.
bool is_of_gpu(const Json& devices) {
    return std::any_of(devices.begin(), devices.end(), [](const Json& device) {
        const std::string driver = base::string_or(device, "driver", "");
        return driver == "nvidia.com" || base::ends_with(driver, ".nvidia.com");
    });
}

std::string claim_path(const PodFacts& pod, const std::string& claim) {
    return "/namespaces/" + base::percent_encoded(pod.space) + "/resourceclaims/" +
           base::percent_encoded(claim);
}

} // namespace

GpuUsers::GpuUsers(std::function<void()> query, std::function<void()> changed,
                   std::function<void(const std::string&)> log_line)
    : query_(std::move(query)), changed_(std::move(changed)), log_(std::move(log_line)) {}

void GpuUsers::begin(Api& api) {
    end();
    api_ = &api;
}

void GpuUsers::end() {
    api_ = nullptr;
    claims_.clear();
    holders_.reset();
    querying_ = is_current_ = false;
    failures_ = 0;
    last_error_.clear();
    query_at_.reset();
}

std::string GpuUsers::mark(std::map<std::string, PodFacts>& pods) {
    std::string unknown;
    std::set<std::string> named;
    if (!holders_)
        query();
    if (!holders_)
        unknown = "which processes use the driver" + (last_error_.empty() ? "" : ": " + last_error_);
    for (auto& [uid, pod] : pods) {
        for (const std::string& name : pod.claims) {
            const auto [found, is_new] = claims_.try_emplace(claim_path(pod, name));
            named.insert(found->first);
            if (is_new)
                ask(found->first, stable);
            const Claim& claim = found->second;
            pod.uses_gpu = pod.uses_gpu || claim.state == Claim::State::OfGpu;
            if (claim.state == Claim::State::Asked || claim.state == Claim::State::Failed)
                unknown = "the resource claim '" + name + "' of pod " + pod.text() +
                          (claim.trouble.empty() ? "" : ": " + claim.trouble);
        }
        pod.holds_driver = holders_ && holders_->count(pod.static_uid.empty() ? uid : pod.static_uid) != 0;
        pod.uses_gpu = pod.uses_gpu || pod.holds_driver;
    }
    std::erase_if(claims_, [&](const auto& claim) { return named.count(claim.first) == 0; });
    return unknown;
}

void GpuUsers::outdate() {
    is_current_ = false;
    std::erase_if(claims_, [](const auto& claim) { return claim.second.state == Claim::State::Unallocated; });
}

bool GpuUsers::confirm() {
    const bool was = is_current_ && !querying_;
    if (!was)
        query();
    return was;
}

std::string GpuUsers::trouble() const {
    const auto claim = std::find_if(claims_.begin(), claims_.end(), [](const auto& one) {
        return (one.second.state == Claim::State::Asked || one.second.state == Claim::State::Failed) &&
               !one.second.trouble.empty();
    });
    return last_error_.empty() && claim != claims_.end() ? claim->second.trouble : last_error_;
}

void GpuUsers::query() {
    if (querying_ || query_at_)
        return;
    querying_ = is_current_ = true;
    query_();
}

void GpuUsers::found(Holders holders) {
    if (!std::exchange(querying_, false))
        return;
    if (holders) {
        holders_ = std::move(*holders);
        failures_ = 0;
        last_error_.clear();
    } else if (holders.error().code == Errc::Busy || ++failures_ < most_failures) {
        last_error_ = holders.error().message;
        query_at_ = now() + between_tries;
        is_current_ = false;
    } else {
        // The swap checks again which processes use the driver, and does not begin while any do.
        log_("can't find the pods that use the driver, moving only those that request a GPU: " +
             holders.error().message);
        if (!holders_)
            holders_.emplace();
    }
    changed_();
}

std::optional<Time> GpuUsers::due() const {
    std::optional<Time> due = query_at_;
    for (const auto& [path, claim] : claims_)
        if (claim.state == Claim::State::Failed)
            due = due ? std::min(*due, claim.again) : claim.again;
    return due;
}

void GpuUsers::turn() {
    const auto at = due();
    if (!at || now() < *at)
        return;
    if (query_at_ && now() >= *query_at_)
        query_at_.reset();
    for (auto& [path, claim] : claims_)
        if (claim.state == Claim::State::Failed && now() >= claim.again) {
            claim.state = Claim::State::Asked;
            ask(path, stable);
        }
    changed_();
}

void GpuUsers::ask(const std::string& claim, std::string_view version) {
    (void)api_->get("/apis/resource.k8s.io/" + std::string(version) + claim,
                    [this, claim, version](ApiAnswer&& answer) { answered(claim, version, answer); });
}

void GpuUsers::answered(const std::string& claim, std::string_view version, const ApiAnswer& answer) {
    const auto found = claims_.find(claim);
    if (found == claims_.end() || found->second.state != Claim::State::Asked)
        return;
    Claim& known = found->second;
    if (answer.status == not_found && version == stable)
        return ask(claim, beta); // unknown API version, or no such claim
    if (answer.done()) {
        const Json& devices = allocated(answer.body);
        known.state = !devices.is_array()  ? Claim::State::Unallocated
                      : is_of_gpu(devices) ? Claim::State::OfGpu
                                           : Claim::State::OfOther;
    } else if (answer.status == not_found) {
        known.state = Claim::State::Unallocated;
    } else {
        failed(claim, known, answer);
    }
    changed_();
}

void GpuUsers::failed(const std::string& path, Claim& claim, const ApiAnswer& answer) {
    if (!claim.since && answer.status != 0 && answer.status != too_many)
        claim.since = now();
    if (answer.status == forbidden || (claim.since && now() >= *claim.since + most_patience)) {
        // Moving one pod needlessly does less harm than leaving a pod on a driver that is unloaded.
        log_("can't read " + path.substr(1) + ", treating it as a claim of a GPU: " + answer.error.message);
        claim.state = Claim::State::OfGpu;
        return;
    }
    claim.state = Claim::State::Failed;
    claim.trouble = answer.error.message;
    claim.again = now() + std::max(between_tries, std::chrono::duration_cast<Time>(
                                                      answer.retry_after.value_or(std::chrono::seconds(0))));
}

} // namespace gpuhost::cluster
