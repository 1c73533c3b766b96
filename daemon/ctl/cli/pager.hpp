// SPDX-License-Identifier: Apache-2.0
// Shows a text on the terminal through a pager, with the environment variables of systemd's tools: see
// systemctl(1), ENVIRONMENT.
#pragma once

#include "daemon/base/handle.hpp"
#include "daemon/ctl/cli/terminal.hpp"

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace gpuhost::ctl {

struct PagerSettings {
    std::vector<std::vector<std::string>> commands; ///< in the order of preference; empty: no pager
    /// Variables for the pager: "LESS=FRSXMK". "LESSSECURE" without a value is removed.
    std::vector<std::string> environment;
};
/// Returns the value of an environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;
/// Returns which pagers may be started, and how. `elevated`: this program has other rights than the owner of
/// the login session, so the pager must not start programs or write files.
[[nodiscard]] PagerSettings pager_settings(const Environment& environment, bool elevated);

/// Returns how many rows of the screen the text needs.
[[nodiscard]] std::size_t rows_of(const Screen& screen, std::string_view text);

/// A running pager. Ctrl-C reaches only the pager. The destructor waits until the user has left it.
class Pager {
  public:
    /// Returns false if $SYSTEMD_PAGER or $PAGER disables the pager, or if none can be started.
    [[nodiscard]] bool start();
    /// Writes the text. Ignores that the user has left the pager before its end.
    void write(std::string_view text) const;

    Pager();
    ~Pager();
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;

  private:
    base::UniqueFd input_;
    pid_t pid_ = -1;
    struct sigaction before_int_ {};
    struct sigaction before_quit_ {};
    struct sigaction before_pipe_ {};
};

} // namespace gpuhost::ctl
