// SPDX-License-Identifier: Apache-2.0
// Text as a terminal shows it: columns, not bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuhost::ctl {

/// Columns that UTF-8 text takes. Bytes that are not UTF-8 count as one column each; escape sequences are not
/// known.
[[nodiscard]] std::size_t text_width(std::string_view text);
/// Filled with blanks to `width` columns; longer text stays whole.
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
/// At most `width` columns; what is cut off is shown by '…'.
[[nodiscard]] std::string elide(std::string_view text, std::size_t width);
/// Without control characters: nothing that comes from a file, a process or the daemon may steer the
/// terminal.
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] std::string human_bytes(std::uint64_t bytes);  ///< "17.3 MiB"
[[nodiscard]] std::string human_span(std::uint64_t us);      ///< "2 min 5 s", "0.4 s": two units at most
[[nodiscard]] std::string short_span(std::uint64_t seconds); ///< "45s", "12m", "3h", "2d": for a column
[[nodiscard]] std::string human_time(std::uint64_t us);      ///< "Thu 1970-01-01 00:16:40 UTC"
/// "5 min ago", "just now"; a time in the future, as after a clock was set back, is "just now".
[[nodiscard]] std::string human_ago(std::uint64_t then_us, std::uint64_t now_us);
[[nodiscard]] std::string plural(std::size_t count, std::string_view one,
                                 std::string_view many); ///< "2 problems"

} // namespace gpuhost::ctl
