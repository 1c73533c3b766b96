// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/transaction.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::host {

/// One transaction as shown to clients, running or ended.
struct Operation {
    std::uint64_t id = 0;
    core::Transaction transaction;
    double progress = 0;          ///< 0 to 1 of the whole
    std::string text;             ///< what it does now
    bool of_earlier_boot = false; ///< begun in an earlier boot and resumed in this one
};

/// Returns "running", "undoing" or the outcome's name.
[[nodiscard]] std::string_view state(const Operation& operation);
[[nodiscard]] base::Json to_json(const Operation& operation);

} // namespace gpuhost::host
