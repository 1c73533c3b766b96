// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace gpuhost::ctl {

class Session;

/// Asks on the terminal, without an echo. Nothing where nobody could answer: without a terminal, or with
/// --no-ask-password.
[[nodiscard]] std::optional<std::string> ask_passphrase(const Session& session, const std::string& prompt);

} // namespace gpuhost::ctl
