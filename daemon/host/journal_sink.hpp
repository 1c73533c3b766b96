// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpuhost::host {

/// Sends log messages to journald with their fields if stderr is connected to the journal; otherwise messages
/// go to stderr.
void log_to_journal() noexcept;

/// Sets the LogTarget of org.freedesktop.LogControl1: "journal" or "console". Returns false for any other
/// word.
[[nodiscard]] bool set_log_target(const char* target) noexcept;
[[nodiscard]] const char* log_target() noexcept;

} // namespace gpuhost::host
