// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/transaction.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::host {

/// A transaction with its id and progress, as clients see it; running or ended.
struct Operation {
    std::uint64_t id = 0;
    core::Transaction transaction;
    double progress = 0;          ///< of the whole operation, 0 to 1
    std::string text;             ///< the current activity, or the error's message after the end
    bool of_earlier_boot = false; ///< an earlier boot started it, this boot resumed it
};

/// Returns "running" or "undoing"; after the operation has ended, the name of its outcome.
[[nodiscard]] std::string_view state(const Operation& operation);
/// Returns the title of the plan, or the newest title in the outputs of its steps (core::StepCode::apply).
/// Ignores a title that is longer than 200 bytes or has control characters, since workers parse foreign
/// files.
[[nodiscard]] std::string title(const Operation& operation);
[[nodiscard]] base::Json to_json(const Operation& operation);

} // namespace gpuhost::host
