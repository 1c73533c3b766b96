// SPDX-License-Identifier: Apache-2.0
// A descriptor that is readable when one of several descriptors is ready or a time has come. It lets an
// object with several descriptors be one source of any event loop.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace gpuhost::rpc {

class Poller {
  public:
    [[nodiscard]] static base::Result<Poller> make();
    [[nodiscard]] int descriptor() const { return epoll_.get(); }

    /// Watches a descriptor; `events` is an epoll mask. `key` is not 0.
    [[nodiscard]] base::Result<void> add(int fd, std::uint32_t events, std::uint64_t key);
    [[nodiscard]] base::Result<void> change(int fd, std::uint32_t events, std::uint64_t key);
    void remove(int fd);
    /// Sets the time, of CLOCK_MONOTONIC, when the descriptor is readable anyway.
    void wake_at(std::optional<std::uint64_t> time_us);
    /// Returns the keys of ready descriptors, without waiting.
    [[nodiscard]] std::vector<std::uint64_t> ready();

  private:
    Poller(base::UniqueFd epoll, base::UniqueFd timer) : epoll_(std::move(epoll)), timer_(std::move(timer)) {}
    [[nodiscard]] base::Result<void> control(int operation, int fd, std::uint32_t events, std::uint64_t key);
    base::UniqueFd epoll_;
    base::UniqueFd timer_;
    std::optional<std::uint64_t> wake_us_;
};

} // namespace gpuhost::rpc
