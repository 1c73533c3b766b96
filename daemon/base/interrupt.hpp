// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/handle.hpp"

#include <csignal>

namespace gpuhost::base {

/// While an object exists, SIGINT, SIGQUIT, SIGTERM and SIGHUP do not end the program, but make a descriptor
/// readable. The program can then answer Ctrl-C with a message, or complete its current step. The destructor
/// unblocks the signals. A signal that was not read from the descriptor then ends the program.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// Returns a descriptor that is readable after a signal; -1 if it could not be created.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Ends the program with the received signal, so that a calling shell sees the same status as after a
    /// plain Ctrl-C.
    [[noreturn]] void die();

  private:
    UniqueFd fd_;
    sigset_t before_{};
};

} // namespace gpuhost::base
