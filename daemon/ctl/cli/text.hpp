// SPDX-License-Identifier: Apache-2.0
// Measures and formats text in terminal columns, not bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Returns the width of UTF-8 text in columns. Invalid bytes count as one column each. Escape sequences are
/// not interpreted.
[[nodiscard]] std::size_t text_width(std::string_view text);
/// Pads the text with blanks to `width` columns. Longer text is unchanged.
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
/// Truncates the text to `width` columns and marks the cut with '…'.
[[nodiscard]] std::string elide(std::string_view text, std::size_t width);
/// Replaces control characters and invalid bytes, because text from a file, a process or gpuhostd must not
/// control the terminal.
[[nodiscard]] std::string printable(std::string_view text);
/// Quotes a word for a shell, if necessary. Commands that users copy need it for the name of a foreign file.
[[nodiscard]] std::string shell_quoted(std::string_view word);

[[nodiscard]] std::string human_bytes(std::uint64_t bytes);  ///< "17.3 MiB"
[[nodiscard]] std::string human_span(std::uint64_t us);      ///< "2 min 5 s", "0.4 s": two units at most
[[nodiscard]] std::string short_span(std::uint64_t seconds); ///< "45s", "12m", "3h", "2d": for a column
[[nodiscard]] std::string human_time(std::uint64_t us);      ///< "Thu 1970-01-01 00:16:40 UTC"
/// Returns "5 min ago" or "just now". A future time, for example after the clock was set back, is "just now".
[[nodiscard]] std::string human_ago(std::uint64_t then_us, std::uint64_t now_us);
[[nodiscard]] std::string plural(std::size_t count, std::string_view one,
                                 std::string_view many); ///< "2 problems"

} // namespace gpuhost::ctl
