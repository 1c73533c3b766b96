// SPDX-License-Identifier: Apache-2.0
#include "images/peers/peer_client.hpp"

#include "daemon/http/client.hpp"

namespace gpuhost::images {

using base::Result;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds document_deadline{60'000};
/// Bytes a second: a slower answer fails as if no byte arrived.
constexpr std::uint64_t least_speed = 16U << 10U;
constexpr std::size_t most_idle_connections = 64;

PeerAnswer read(http::Answer&& answer) {
    PeerAnswer read{answer.id, answer.status, std::move(answer.body), std::move(answer.problem)};
    if (read.problem.empty() && read.status != 200 && read.status != 206)
        read.problem = "HTTP status " + std::to_string(read.status);
    return read;
}

std::vector<PeerAnswer> read(std::vector<http::Answer>&& answers) {
    std::vector<PeerAnswer> all;
    all.reserve(answers.size());
    for (http::Answer& answer : answers)
        all.push_back(read(std::move(answer)));
    return all;
}

} // namespace

struct PeerClient::Transfers {
    http::Client client;
    milliseconds patience;
    std::uint64_t last_id = 0;
};

PeerClient::PeerClient(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}
PeerClient::PeerClient(PeerClient&&) noexcept = default;
PeerClient& PeerClient::operator=(PeerClient&&) noexcept = default;
PeerClient::~PeerClient() = default;

Result<PeerClient> PeerClient::make(const TlsKeys& keys, milliseconds patience) {
    http::Options options;
    options.tls = {keys.authorities, keys.certificate, keys.key};
    options.most_idle_connections = most_idle_connections;
    GPUHOST_TRY(client, http::Client::make(std::move(options)));
    return PeerClient(std::make_unique<Transfers>(Transfers{std::move(client), patience}));
}

std::uint64_t PeerClient::start(PeerRequest asked) {
    http::Request request;
    request.url = std::move(asked.url);
    request.first = asked.first;
    request.length = asked.length;
    request.limit = asked.limit;
    request.deadline = asked.length == 0 ? document_deadline : milliseconds(0);
    request.silence = transfers_->patience;
    request.least_speed = least_speed;
    return transfers_->last_id = transfers_->client.start(std::move(request));
}

std::vector<PeerAnswer> PeerClient::wait(milliseconds most, int writable) {
    return read(transfers_->client.wait(most, writable));
}

std::vector<PeerAnswer> PeerClient::ask_all(const std::vector<PeerRequest>& requests) {
    std::vector<PeerAnswer> answers(requests.size());
    const std::uint64_t first = transfers_->last_id + 1;
    for (const PeerRequest& request : requests)
        (void)start(request);
    for (std::size_t left = requests.size(); left > 0;)
        for (PeerAnswer& answer : wait(std::chrono::seconds(1))) {
            if (answer.id < first)
                continue; // the answer to a request of an earlier call
            answers[static_cast<std::size_t>(answer.id - first)] = std::move(answer);
            --left;
        }
    return answers;
}

} // namespace gpuhost::images
