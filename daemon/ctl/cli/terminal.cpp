// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/terminal.hpp"

#include "daemon/base/parse.hpp"

#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpuhost::ctl {
namespace {

std::string_view environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view{} : value;
}

std::size_t given(const char* name, std::size_t fallback) {
    const auto number = base::parse_uint(environment(name));
    return number && *number > 0 && *number < 10'000 ? static_cast<std::size_t>(*number) : fallback;
}

bool wants_colour() {
    const std::string_view colours = environment("SYSTEMD_COLORS");
    if (colours == "16" || colours == "256")
        return true;
    return base::parse_bool(colours).value_or(environment("NO_COLOR").empty());
}

} // namespace

std::string Screen::paint(Style style, std::string_view text) const {
    static constexpr const char* codes[] = {"", "1", "2", "32", "33", "1;31"};
    if (!colour || style == Style::Plain || text.empty())
        return std::string(text);
    return std::string("\033[") + codes[static_cast<int>(style)] + "m" + std::string(text) + "\033[0m";
}

Screen screen_of(int fd) {
    Screen screen;
    screen.terminal = ::isatty(fd) == 1 && environment("TERM") != "dumb";
    screen.colour = screen.terminal && wants_colour();
    struct winsize size {};
    const bool is_known = ::ioctl(fd, TIOCGWINSZ, &size) == 0;
    screen.columns = is_known && size.ws_col > 0 ? size.ws_col : given("COLUMNS", screen.columns);
    screen.rows = is_known && size.ws_row > 0 ? size.ws_row : given("LINES", screen.rows);
    return screen;
}

} // namespace gpuhost::ctl
