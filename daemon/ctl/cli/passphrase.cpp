// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/cli/passphrase.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/session.hpp"

#include <cerrno>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace gpuhost::ctl {

namespace {

constexpr std::size_t longest = 4096;

/// Turns off the terminal's echo as long as this object exists. After Ctrl-C the shell turns the echo on
/// again.
class Silence {
  public:
    explicit Silence(int fd) : fd_(fd), quiet_(::tcgetattr(fd, &before_) == 0) {
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        silent.c_lflag |= ICANON | ECHONL;
        quiet_ = quiet_ && ::tcsetattr(fd, TCSAFLUSH, &silent) == 0;
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    ~Silence() {
        if (quiet_)
            (void)::tcsetattr(fd_, TCSAFLUSH, &before_);
    }
    [[nodiscard]] bool holds() const { return quiet_; }

  private:
    int fd_;
    termios before_{};
    bool quiet_;
};

} // namespace

std::optional<std::string> ask_passphrase(const Session& session, const std::string& prompt) {
    if (session.arguments().has("no-ask-password"))
        return std::nullopt;
    const base::UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal)
        return std::nullopt;
    const Silence silence(terminal.get());
    if (!silence.holds() || !base::write_all(terminal.get(), prompt, "/dev/tty"))
        return std::nullopt;
    std::string line(longest, '\0');
    ssize_t n = 0;
    do
        n = ::read(terminal.get(), line.data(), line.size());
    while (n < 0 && errno == EINTR);
    if (n <= 0 || line[static_cast<std::size_t>(n) - 1] != '\n')
        return std::nullopt; // Ctrl-D
    line.resize(static_cast<std::size_t>(n) - 1);
    return line;
}

} // namespace gpuhost::ctl
