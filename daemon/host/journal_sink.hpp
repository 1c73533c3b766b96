// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuhost::host {

/// Sends the log to journald with its fields when stderr is the journal's stream; else leaves it on stderr.
void log_to_journal() noexcept;

/// Sets LogControl1's target: "journal" or "console". Returns false for any other word.
[[nodiscard]] bool set_log_target(const char* target) noexcept;
[[nodiscard]] const char* log_target() noexcept;

} // namespace gpuhost::host
