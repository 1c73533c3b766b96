// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/interrupt.hpp"

#include <cstdio>
#include <cstdlib>

#include <sys/signalfd.h>
#include <unistd.h>

namespace gpuhost::base {

Interrupt::Interrupt() {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) // as nohup(1) has it
            sigaddset(&ours, signal);
    }
    sigprocmask(SIG_BLOCK, &ours, &before_);
    fd_ = UniqueFd(::signalfd(-1, &ours, SFD_CLOEXEC));
    if (!fd_)
        sigprocmask(SIG_SETMASK, &before_, nullptr); // then a signal just ends the program
}

Interrupt::~Interrupt() {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::die() {
    signalfd_siginfo info{};
    const bool known = ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
    const int signal = known ? static_cast<int>(info.ssi_signo) : SIGINT;
    std::fflush(nullptr);
    (void)std::signal(signal, SIG_DFL);
    (void)std::raise(signal);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    std::_Exit(128 + signal); // only when the caller had the signal blocked
}

} // namespace gpuhost::base
