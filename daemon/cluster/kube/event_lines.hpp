// SPDX-License-Identifier: Apache-2.0
// Splits the stream of a watch into events: one JSON object per line, received in arbitrary pieces.
#pragma once

#include "daemon/base/json_fwd.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

class EventLines {
  public:
    /// The limit of one line. An object has at most 1.5 MiB in etcd, and more as JSON.
    static constexpr std::size_t longest = 8U << 20U;

    explicit EventLines(std::function<void(base::Json&&)> on_event) : on_event_(std::move(on_event)) {}

    /// Calls `on_event` for each complete line. Returns false if a line is too long or not a JSON object; the
    /// bytes after it are ignored.
    [[nodiscard]] bool feed(std::string_view bytes);

  private:
    std::function<void(base::Json&&)> on_event_;
    std::string rest_;
};

} // namespace gpuhost::cluster
