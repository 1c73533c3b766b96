// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_peer_client.hpp"

#include <map>

namespace gpuhost::images {

using std::chrono::milliseconds;

struct PeerClient::Transfers {
    std::uint64_t last_id = 0;
    std::map<std::uint64_t, PeerRequest> running;
};

PeerClient::PeerClient(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}
PeerClient::PeerClient(PeerClient&&) noexcept = default;
PeerClient& PeerClient::operator=(PeerClient&&) noexcept = default;
PeerClient::~PeerClient() = default;

base::Result<PeerClient> PeerClient::make(const TlsKeys&, milliseconds) {
    return PeerClient(std::make_unique<Transfers>());
}

std::uint64_t PeerClient::start(PeerRequest request) {
    transfers_->running.emplace(++transfers_->last_id, std::move(request));
    return transfers_->last_id;
}

std::vector<PeerAnswer> PeerClient::wait(milliseconds most, int writable) {
    if (tests::network.wait)
        tests::network.wait(most, writable);
    std::vector<PeerAnswer> answers;
    std::erase_if(transfers_->running, [&](const auto& one) {
        auto answer = tests::network.answer(one.second);
        if (!answer)
            return false;
        answer->id = one.first;
        answers.push_back(*std::move(answer));
        return true;
    });
    return answers;
}

std::vector<PeerAnswer> PeerClient::ask_all(const std::vector<PeerRequest>& requests) {
    std::vector<PeerAnswer> answers;
    for (const PeerRequest& request : requests)
        answers.push_back(tests::network.answer(request).value());
    return answers;
}

} // namespace gpuhost::images
