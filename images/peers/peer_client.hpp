// SPDX-License-Identifier: Apache-2.0
// HTTPS client for peers: many concurrent requests with answers of a known size. Both ends present a
// certificate of the site's authority for peers.
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
    std::uint64_t length = 0; ///< exactly this many bytes from `first` on; 0: a document
    std::size_t limit = 0;    ///< the largest document, in bytes
};

struct PeerAnswer {
    std::uint64_t id = 0;
    unsigned status = 0; ///< 0: no answer
    std::string body;
    std::string problem; ///< why the answer is unusable; empty: it is usable
};

class PeerClient {
  public:
    /// `patience` is the longest time without any byte.
    [[nodiscard]] static base::Result<PeerClient> make(const TlsKeys& keys,
                                                       std::chrono::milliseconds patience);
    PeerClient(PeerClient&&) noexcept;
    PeerClient& operator=(PeerClient&&) noexcept;
    ~PeerClient();

    /// Starts a request and returns its id.
    std::uint64_t start(PeerRequest request);
    /// Returns the answers so far. Waits at most `most`, until there is one or `writable` (a descriptor, or
    /// -1) is ready for writing.
    [[nodiscard]] std::vector<PeerAnswer> wait(std::chrono::milliseconds most, int writable = -1);
    /// Sends all requests and returns their answers, in the same order.
    [[nodiscard]] std::vector<PeerAnswer> ask_all(const std::vector<PeerRequest>& requests);

  private:
    struct Transfers;
    explicit PeerClient(std::unique_ptr<Transfers> transfers);
    std::unique_ptr<Transfers> transfers_;
};

} // namespace gpuhost::images
