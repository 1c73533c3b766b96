// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/live_screen.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace gpuhost::ctl {
namespace {

// Uses the terminal's alternate screen, hides the cursor, and truncates long lines instead of wrapping them.
constexpr const char* begin = "\033[?1049h\033[?25l\033[?7l";
constexpr const char* end = "\033[?7h\033[?25h\033[?1049l";
constexpr const char* home = "\033[H";
constexpr const char* clear_line = "\033[K";
constexpr const char* clear_below = "\033[J";

void put(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

} // namespace

void LiveScreen::paint(std::string text, std::size_t rows) {
    text_ = std::move(text);
    std::string painted = (std::exchange(painted_, true) ? "" : std::string(begin)) + home;
    for (std::size_t at = 0; at < text_.size() && rows > 1; --rows) { // the last row is for the cursor
        const std::size_t line = std::min(text_.find('\n', at), text_.size());
        painted += text_.substr(at, line - at) + clear_line + "\n";
        at = line + 1;
    }
    put(painted + clear_below);
}

void LiveScreen::leave() {
    if (std::exchange(painted_, false))
        put(end + text_);
}

} // namespace gpuhost::ctl
