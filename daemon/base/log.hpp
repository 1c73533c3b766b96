// SPDX-License-Identifier: Apache-2.0
// Structured log. Only daemon/host/, daemon/bus/ and daemon/programs/ log. Other code returns an Error, which
// its caller logs once.
//
// A message is a lower-case phrase with values from outside in single quotes. It ends with ", ignoring" if
// the program ignores the problem and continues.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhost::base::log {

enum class Level { Error = 3, Warning = 4, Notice = 5, Info = 6, Debug = 7 }; // syslog's numbers

/// Fields of the journal: {"GPUHOST_VERSION", "550.163.01"}.
using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;

/// Receives each message. Without a sink, messages are written to stderr, with systemd's prefix "<N>" if
/// stderr is connected to the journal.
using Sink = void (*)(Level level, std::string_view message, std::string_view message_id,
                      Fields fields) noexcept;

void set_sink(Sink sink) noexcept;
void set_level(Level level) noexcept;
[[nodiscard]] Level level() noexcept;
/// Returns true if stderr is connected to the journal, see systemd.exec(5). Compares stderr with
/// $JOURNAL_STREAM, because the variable may be inherited from a parent with another stderr.
[[nodiscard]] bool stderr_is_journal() noexcept;

/// Logs a message. `message_id` is a constant of messages.hpp, or empty.
void event(Level level, std::string_view message_id, Fields fields, std::string_view message) noexcept;

inline void error(std::string_view message, Fields fields = {}) noexcept {
    event(Level::Error, {}, fields, message);
}
inline void warning(std::string_view message, Fields fields = {}) noexcept {
    event(Level::Warning, {}, fields, message);
}
inline void notice(std::string_view message, Fields fields = {}) noexcept {
    event(Level::Notice, {}, fields, message);
}
inline void info(std::string_view message, Fields fields = {}) noexcept {
    event(Level::Info, {}, fields, message);
}
inline void debug(std::string_view message, Fields fields = {}) noexcept {
    event(Level::Debug, {}, fields, message);
}

} // namespace gpuhost::base::log
