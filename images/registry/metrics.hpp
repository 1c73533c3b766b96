// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/store/references.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhost::images {

/// Counters of one server since the start of gpuhost-registry. Thread-safe.
class RegistryMetrics {
  public:
    /// Counts a request with the status of its answer. `endpoint` must outlive the object.
    void count(std::string_view endpoint, unsigned status);
    void add_sent(std::uint64_t bytes) { sent_ += bytes; } ///< of bodies
    void add_connections(int change) { connections_ += change; }
    [[nodiscard]] int connections() const { return connections_; }

    /// Returns the metrics in Prometheus' text format, with the numbers of images and bundles in
    /// `references`.
    [[nodiscard]] std::string text(const References& references) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string_view, unsigned>, std::uint64_t> requests_;
    std::atomic<std::uint64_t> sent_ = 0;
    std::atomic<int> connections_ = 0;
};

} // namespace gpuhost::images
