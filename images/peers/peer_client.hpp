// SPDX-License-Identifier: Apache-2.0
// HTTPS to peers: many requests at a time, answers of a known size. Both ends show a certificate of the site's authority
// for peers.
#pragma once

#include "daemon/base/result.hpp"
#include "images/registry/tls_keys.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpuhost::images {

struct PeerRequest {
    std::string url;
    std::uint64_t first = 0;
    std::uint64_t length = 0; ///< exactly so many bytes from `first` on; 0: a document,
    std::size_t limit = 0;    ///< of at most so many
};

struct PeerAnswer {
    std::uint64_t id = 0;
    unsigned status = 0; ///< 0: none came
    std::string body;
    std::string problem; ///< why it is not what was asked for; empty: it is
};

class PeerClient {
  public:
    /// `patience`: without a byte.
    [[nodiscard]] static base::Result<PeerClient> make(const TlsKeys& keys,
                                                       std::chrono::milliseconds patience);
    PeerClient(PeerClient&&) noexcept;
    PeerClient& operator=(PeerClient&&) noexcept;
    ~PeerClient();

    /// Returns its id.
    std::uint64_t start(PeerRequest request);
    /// What was answered: after a while, or as soon as anything is, or `writable` (a descriptor, or -1) can be written to.
    [[nodiscard]] std::vector<PeerAnswer> wait(std::chrono::milliseconds most, int writable = -1);
    /// Answers of all these, in order.
    [[nodiscard]] std::vector<PeerAnswer> ask_all(const std::vector<PeerRequest>& requests);

  private:
    struct Transfers;
    explicit PeerClient(std::unique_ptr<Transfers> transfers);
    std::unique_ptr<Transfers> transfers_;
};

} // namespace gpuhost::images
