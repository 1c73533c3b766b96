// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace gpuhost::ctl {

class Session;

/// Reads a passphrase from the terminal, without echo. Returns nullopt if there is no terminal, with
/// --no-ask-password, or if the user aborts the input.
[[nodiscard]] std::optional<std::string> ask_passphrase(const Session& session, const std::string& prompt);

} // namespace gpuhost::ctl
