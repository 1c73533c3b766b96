// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/rollout/gate_keeper.hpp"

#include "config.h"
#include "daemon/base/parse.hpp"
#include "daemon/cluster/kube/paths.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhost::cluster {

using base::Errc;
using base::Result;

namespace {

constexpr Time patience{10'000};
constexpr std::size_t most_answer = 1U << 20U;
constexpr std::size_t most_authorities = 4U << 20U;
constexpr std::size_t longest_token = 64U << 10U;

/// The files of the system's CA certificates on Debian, Red Hat and SUSE.
constexpr std::array system_authorities{"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"};

std::string path_of(const std::string& file) {
    return std::string(gates_directory) + "/" + file;
}

Time interval_of(const Gate& gate) {
    return std::chrono::duration_cast<Time>(gate.interval);
}

} // namespace

GateKeeper::GateKeeper(const base::Root& root, LogLine log_line) : root_(root), log_(std::move(log_line)) {}

bool GateKeeper::is_fresh(const Gate& gate, const Known& known) {
    return known.shut && now() < known.answered + interval_of(gate);
}

void GateKeeper::want(std::set<Gate> gates) {
    wanted_ = std::move(gates);
    std::erase_if(known_, [this](const auto& one) {
        return wanted_.count(one.first) == 0 && one.second.request == 0 && !is_fresh(one.first, one.second);
    });
}

void GateKeeper::forget() {
    wanted_.clear();
    for (const auto& [gate, known] : known_)
        if (known.request != 0)
            client_->cancel(known.request);
    known_.clear();
}

/// Returns the gates with a known state. A shut gate that is still wanted keeps its state until an answer
/// changes it. The state of an open gate is unknown after the gate's interval, until the next answer.
GateStates GateKeeper::states() const {
    GateStates states;
    for (const auto& [gate, known] : known_)
        if (known.shut && (is_fresh(gate, known) || (!known.shut->empty() && wanted_.count(gate) != 0)))
            states.emplace(gate, *known.shut);
    return states;
}

std::optional<Time> GateKeeper::due() const {
    std::optional<Time> due;
    for (const Gate& gate : wanted_) {
        const auto known = known_.find(gate);
        if (known != known_.end() && known->second.request != 0)
            continue;
        const Time at =
            known == known_.end() || !known->second.shut ? now() : known->second.answered + interval_of(gate);
        due = due ? std::min(*due, at) : at;
    }
    return due;
}

bool GateKeeper::turn() {
    if (client_)
        for (const http::Answer& answer : client_->work())
            handle(answer);
    for (const Gate& gate : wanted_) {
        Known& known = known_[gate];
        if (known.request != 0 || is_fresh(gate, known))
            continue;
        if (auto request = ask(gate))
            known.request = *request;
        else
            record(gate, known, why_shut(gate, request.error().message));
    }
    return std::exchange(changed_, false);
}

Result<std::uint64_t> GateKeeper::ask(const Gate& gate) {
    if (!client_) {
        http::Options options;
        options.plain = true;
        GPUHOST_TRY(client, http::Client::make(std::move(options)));
        client_ = std::move(client);
    }
    http::Request request;
    request.url = gate_target(gate);
    // Each request has its own connection, so that the server's name is resolved and its certificate verified
    // each time.
    request.headers = {"Accept: application/json", "Connection: close",
                       "User-Agent: gpuhost-cluster/" PACKAGE_VERSION};
    request.limit = most_answer;
    request.deadline = patience;
    if (base::starts_with(gate.url, "https:")) {
        GPUHOST_TRY(trusted, authorities(gate));
        GPUHOST_CHECK(client_->set_tls({std::move(trusted), {}, {}}));
    }
    if (!gate.token.empty()) {
        GPUHOST_TRY(token, root_.read(path_of(gate.token), longest_token));
        request.headers.push_back("Authorization: Bearer " + std::string(base::trim(token)));
    }
    return client_->start(std::move(request));
}

Result<std::string> GateKeeper::authorities(const Gate& gate) const {
    if (!gate.authorities.empty())
        return root_.read(path_of(gate.authorities), most_authorities);
    for (const char* path : system_authorities)
        if (root_.exists(path))
            return root_.read(path, most_authorities);
    return base::fail(Errc::NotFound, "this host has no list of authorities; set caFile");
}

void GateKeeper::handle(const http::Answer& answer) {
    const auto asked = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& one) { return one.second.request == answer.id; });
    if (asked == known_.end())
        return;
    auto& [gate, known] = *asked;
    known.request = 0;
    record(gate, known,
           answer.failure != http::Failure::None
               ? why_shut(gate, answer.problem)
               : why_shut(gate, answer.status, answer.body, known.shut.value_or("")));
}

void GateKeeper::record(const Gate& gate, Known& known, std::string shut) {
    const std::string before = known.shut.value_or("");
    if (shut != before)
        log_(shut.empty() ? "gate '" + gate.name + "' is open" : shut);
    // An answer that the gate is open always counts as a change, because the leader may have waited for the
    // answer.
    changed_ = changed_ || shut.empty() || shut != before;
    known.shut = std::move(shut);
    known.answered = now();
}

} // namespace gpuhost::cluster
