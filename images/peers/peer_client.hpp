// SPDX-License-Identifier: Apache-2.0
// HTTPS client for peers, with many concurrent requests. The size of each answer is known or limited. Both
// ends present a certificate from the authority that the site has for peers.
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
    std::uint64_t length = 0; ///< the answer must be this range of the file, in bytes; 0: the whole document
    std::size_t limit = 0;    ///< of a document: the largest accepted size in bytes
};

struct PeerAnswer {
    std::uint64_t id = 0;
    unsigned status = 0; ///< HTTP status; 0: no answer
    std::string body;
    /// Why the answer cannot be used; set for any status but 200 and 206. Empty if `body` is valid.
    std::string problem;
};

class PeerClient {
  public:
    /// A request fails if no byte arrives for `patience`.
    [[nodiscard]] static base::Result<PeerClient> make(const TlsKeys& keys,
                                                       std::chrono::milliseconds patience);
    PeerClient(PeerClient&&) noexcept;
    PeerClient& operator=(PeerClient&&) noexcept;
    ~PeerClient();

    /// Starts a request and returns its id, which wait() returns with the answer. Ids increase by 1.
    std::uint64_t start(PeerRequest request);
    /// Returns the answers that arrived since the last call. Waits at most `most` until there is one. Returns
    /// earlier if the descriptor `writable` can be written; -1: no descriptor.
    [[nodiscard]] std::vector<PeerAnswer> wait(std::chrono::milliseconds most, int writable = -1);
    /// Sends all requests, waits for all answers, and returns them in the order of `requests`.
    [[nodiscard]] std::vector<PeerAnswer> ask_all(const std::vector<PeerRequest>& requests);

  private:
    struct Transfers;
    explicit PeerClient(std::unique_ptr<Transfers> transfers);
    std::unique_ptr<Transfers> transfers_;
};

} // namespace gpuhost::images
