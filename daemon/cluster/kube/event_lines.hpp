// SPDX-License-Identifier: Apache-2.0
// What a watch sends: one JSON object a line, whose bytes come cut anywhere.
#pragma once

#include "daemon/base/json.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace gpuhost::cluster {

class EventLines {
  public:
    /// An object is 1.5 MiB in etcd, and longer as JSON.
    static constexpr std::size_t longest = 8U << 20U;

    explicit EventLines(std::function<void(base::Json&&)> on_event) : on_event_(std::move(on_event)) {}

    /// False: it is no watch, and nothing behind it is looked at.
    [[nodiscard]] bool take(std::string_view bytes);

  private:
    std::function<void(base::Json&&)> on_event_;
    std::string rest_;
};

} // namespace gpuhost::cluster
