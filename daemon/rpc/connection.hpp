// SPDX-License-Identifier: Apache-2.0
// Moves bytes between a socket and what makes and reads them.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhost::rpc {

class Connection {
  public:
    explicit Connection(base::UniqueFd fd) : fd_(std::move(fd)) {}
    [[nodiscard]] int get() const { return fd_.get(); }

    /// Reads at most 64 KiB. Returns an empty text if nothing is there now; nullopt at the end, or if the
    /// peer is gone.
    [[nodiscard]] std::optional<std::string_view> read();
    /// Sends what `more` appends, until it appends nothing or the socket is full. Fails if the peer is gone.
    [[nodiscard]] base::Result<void> write(std::uint64_t now_us,
                                           const std::function<void(std::string&)>& more);
    /// Returns the time since which bytes wait for the peer to read; nullopt if none wait.
    [[nodiscard]] std::optional<std::uint64_t> stalled_since() const { return stalled_us_; }

  private:
    base::UniqueFd fd_;
    std::string output_;
    std::size_t written_ = 0;
    std::optional<std::uint64_t> stalled_us_;
};

} // namespace gpuhost::rpc
