// SPDX-License-Identifier: Apache-2.0
// Reads the result of an operation from its description.
#pragma once

#include "daemon/base/error.hpp"
#include "daemon/base/json.hpp"

#include <string>

namespace gpuhost {

/// `state` is from an operation's row or from its description; both use the same names of states.
[[nodiscard]] bool is_running(const std::string& state);

/// Returns the problems that block a swap, in a line; empty: none do. Omits pods that use the driver, because
/// these leave before the swap.
[[nodiscard]] std::string lasting_problems(const base::Json& problems);

/// Returns the message and the hint of an operation's error.
[[nodiscard]] std::string text_of(const base::Json& error);

/// Returns true if the error says nothing about the version: gpuhostd is busy, or the call timed out and may
/// have had an effect.
[[nodiscard]] bool is_silent(const base::Error& error);

} // namespace gpuhost
