// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"

#include <csignal>

namespace gpuhost::base {

/// While it lives, SIGINT, SIGTERM and SIGHUP wait in a descriptor, so that Ctrl-C can be answered with words, or finds
/// nothing half done: one that nobody read ends the program when this goes.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    [[nodiscard]] int fd() const {
        return fd_.get();
    } ///< readable once a signal came; -1 when it can't be had
    /// Ends the program by the signal that came, so that a calling shell sees what a plain Ctrl-C would have
    /// done.
    [[noreturn]] void die();

  private:
    UniqueFd fd_;
    sigset_t before_{};
};

} // namespace gpuhost::base
