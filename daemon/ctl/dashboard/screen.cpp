// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/screen.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <langinfo.h>
#define NCURSES_NOMACROS // functions only: a macro cannot be called as ::name()
#include <ncurses.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gpuhost::ctl::dashboard {
namespace {

constexpr int escape_delay = 25; ///< milliseconds in which the rest of a key's sequence arrives

/// Sets the locale's characters, which ncurses and the terminal must agree on.
class Locale {
  public:
    Locale() : before_(std::setlocale(LC_CTYPE, nullptr)) {
        (void)std::setlocale(LC_CTYPE, "");
        utf8_ = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
    }
    ~Locale() { (void)std::setlocale(LC_CTYPE, before_.c_str()); }
    Locale(const Locale&) = delete;
    Locale& operator=(const Locale&) = delete;
    [[nodiscard]] bool utf8() const { return utf8_; }

  private:
    std::string before_;
    bool utf8_ = false;
};

using ScreenPtr = base::CHandle<SCREEN, ::delscreen>;

enum Pair : short { green = 1, yellow, red };

struct Meaning {
    int code;
    Key key;
};
constexpr int escape = 27;
constexpr std::array meanings{Meaning{KEY_UP, Key::Up},          Meaning{'k', Key::Up},
                              Meaning{KEY_DOWN, Key::Down},      Meaning{'j', Key::Down},
                              Meaning{KEY_LEFT, Key::Left},      Meaning{KEY_BTAB, Key::Left},
                              Meaning{KEY_RIGHT, Key::Right},    Meaning{'\t', Key::Right},
                              Meaning{KEY_PPAGE, Key::PageUp},   Meaning{KEY_NPAGE, Key::PageDown},
                              Meaning{KEY_HOME, Key::Home},      Meaning{KEY_END, Key::End},
                              Meaning{'\n', Key::Enter},         Meaning{'\r', Key::Enter},
                              Meaning{KEY_ENTER, Key::Enter},    Meaning{escape, Key::Back},
                              Meaning{KEY_BACKSPACE, Key::Back}, Meaning{'q', Key::Quit},
                              Meaning{'r', Key::Refresh},        Meaning{'?', Key::Help}};

Key key_of(int code) {
    const auto* const found = std::find_if(meanings.begin(), meanings.end(),
                                           [&](const Meaning& meaning) { return meaning.code == code; });
    return found == meanings.end() ? Key::Other : found->key;
}

base::Error unknown_terminal() {
    const char* const name = std::getenv("TERM");
    return {base::Errc::Unsupported,
            "the terminal type '" + printable(name == nullptr ? "" : name) +
                "' in $TERM is unknown or cannot move its cursor",
            "Print the dashboard as text: gpuhostctl dashboard --once."};
}

} // namespace

struct Terminal::Impl {
    Locale locale;
    ScreenPtr screen;
    bool colour = false;
    Frame shown;

    ~Impl() {
        if (screen)
            (void)::endwin();
    }
    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[nodiscard]] attr_t attributes(const Span& span) const {
        const auto in = [&](Pair pair) { return colour ? static_cast<attr_t>(COLOR_PAIR(pair)) : A_NORMAL; };
        const attr_t reverse = span.reverse ? A_REVERSE : A_NORMAL;
        switch (span.style) {
        case Style::Bold:
            return reverse | A_BOLD;
        case Style::Dim:
            return reverse | A_DIM;
        case Style::Good:
            return reverse | in(green);
        case Style::Warn:
            return reverse | in(yellow);
        case Style::Bad:
            return reverse | A_BOLD | in(red);
        default:
            return reverse;
        }
    }

    void draw(int row, const Line& line) {
        std::size_t column = 0;
        for (const Span& span : line) {
            const std::string text = locale.utf8() ? span.text : in_ascii(span.text);
            (void)::attrset(static_cast<int>(attributes(span)));
            (void)::mvaddstr(row, static_cast<int>(column), text.c_str());
            column += text_width(span.text);
        }
    }
};

Terminal::Terminal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Terminal::Terminal(Terminal&&) noexcept = default;
Terminal::~Terminal() = default;

base::Result<Terminal> Terminal::open(bool colour) {
    auto impl = std::make_unique<Impl>();
    impl->screen.reset(::newterm(nullptr, stdout, stdin));
    if (!impl->screen)
        return base::fail(unknown_terminal());
    const char* const move = ::tigetstr("cup");
    if (move == nullptr || move == reinterpret_cast<char*>(-1)) // NOLINT: the documented value
        return base::fail(unknown_terminal());
    (void)::cbreak();
    (void)::noecho();
    (void)::nonl();
    (void)::keypad(stdscr, true);
    (void)::nodelay(stdscr, true);
    (void)::set_escdelay(escape_delay);
    (void)::curs_set(0);
    if (colour && ::has_colors() && ::start_color() == OK) {
        const short background = ::use_default_colors() == OK ? -1 : COLOR_BLACK;
        (void)::init_pair(green, COLOR_GREEN, background);
        (void)::init_pair(yellow, COLOR_YELLOW, background);
        (void)::init_pair(red, COLOR_RED, background);
        impl->colour = true;
    }
    Terminal terminal(std::move(impl));
    terminal.resize(); // ncurses believes $LINES and $COLUMNS
    return terminal;
}

Size Terminal::size() const {
    return {static_cast<std::size_t>(std::max(LINES, 1)), static_cast<std::size_t>(std::max(COLS, 1))};
}

void Terminal::resize() {
    struct winsize now {};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0)
        (void)::resizeterm(now.ws_row, now.ws_col);
    redraw();
}

void Terminal::redraw() {
    impl_->shown.clear();
    (void)::clearok(stdscr, true);
}

void Terminal::draw(const Frame& frame) {
    if (frame == impl_->shown)
        return;
    for (std::size_t row = 0; row < frame.size(); ++row)
        if (row >= impl_->shown.size() || frame[row] != impl_->shown[row])
            impl_->draw(static_cast<int>(row), frame[row]);
    impl_->shown = frame;
    (void)::refresh();
}

std::optional<Key> Terminal::read_key() {
    const int code = ::getch();
    return code == ERR ? std::nullopt : std::optional(key_of(code));
}

} // namespace gpuhost::ctl::dashboard
