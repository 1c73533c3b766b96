// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/dashboard/loop.hpp"

#include "daemon/base/interrupt.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/ctl/dashboard/screen.hpp"
#include "daemon/ctl/dashboard/source.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace gpuhost::ctl::dashboard {

using base::Result;

namespace {

/// Signals and keys behind one descriptor.
class Input {
  public:
    Input() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
        sigset_t resized;
        sigemptyset(&resized);
        sigaddset(&resized, SIGWINCH);
        sigprocmask(SIG_BLOCK, &resized, &before_);
        resized_ = base::UniqueFd(::signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK));
        for (const int fd : {interrupt_.fd(), resized_.get(), STDIN_FILENO}) {
            epoll_event event{EPOLLIN, {}};
            event.data.fd = fd;
            valid_ = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 && valid_;
        }
    }
    ~Input() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    [[nodiscard]] bool valid() const { return valid_; }
    /// Returns a descriptor that is readable after a signal or a key.
    [[nodiscard]] int fd() const { return epoll_.get(); }
    [[nodiscard]] base::Interrupt& interrupt() { return interrupt_; }

    struct Seen {
        bool interrupted = false;
        bool resized = false;
        bool closed = false; ///< the terminal is gone
    };
    [[nodiscard]] Seen poll() {
        std::array<epoll_event, 3> events{};
        const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
        Seen seen;
        for (int i = 0; i < n; ++i) {
            const epoll_event& event = events.at(static_cast<std::size_t>(i));
            seen.interrupted = seen.interrupted || event.data.fd == interrupt_.fd();
            seen.resized = seen.resized || event.data.fd == resized_.get();
            seen.closed = seen.closed || (event.data.fd == STDIN_FILENO && (event.events & EPOLLHUP) != 0);
        }
        signalfd_siginfo info{};
        while (seen.resized && ::read(resized_.get(), &info, sizeof info) > 0) {
        }
        return seen;
    }

  private:
    base::Interrupt interrupt_;
    base::UniqueFd resized_;
    base::UniqueFd epoll_;
    sigset_t before_{};
    bool valid_ = true;
};

class Dashboard {
  public:
    Dashboard(const base::Root& root, Input& input) : source_(root), input_(input) {}

    [[nodiscard]] Result<int> run(bool colour) {
        GPUHOST_CHECK(source_.connect());
        GPUHOST_TRY(terminal, Terminal::open(colour));
        terminal_.emplace(std::move(terminal));
        for (;;) {
            draw();
            source_.wait(input_.fd());
            const Input::Seen seen = input_.poll();
            if (seen.interrupted) {
                terminal_.reset();
                input_.interrupt().die();
            }
            if (seen.closed)
                return base::fail(base::Errc::Interrupted, "the terminal was closed");
            if (seen.resized)
                terminal_->resize();
            while (const auto key = terminal_->read_key()) {
                if (!obey(*key))
                    return 0;
                draw(); // the next key may be about an item that this one selected
            }
        }
    }

  private:
    void draw() { terminal_->draw(compose(source_.documents(), view_, terminal_->size())); }

    /// Returns false if the user quits.
    bool obey(Key key) {
        const Action action = press(view_, key);
        if (action == Action::Refresh) {
            source_.refresh();
            terminal_->redraw();
        }
        if (action == Action::Open && view_.opened && view_.opened->kind == Item::Kind::Operation)
            source_.open_operation(base::parse_uint(view_.opened->key).value_or(0));
        return action != Action::Quit;
    }

    Source source_;
    Input& input_;
    View view_;
    std::optional<Terminal> terminal_;
};

} // namespace

Result<int> run(const base::Root& root, bool colour) {
    Input input;
    if (!input.valid())
        return base::fail_errno("waiting for the terminal", errno);
    return Dashboard(root, input).run(colour);
}

} // namespace gpuhost::ctl::dashboard
