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
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        // ignored signals stay ignored, as nohup(1) expects
        if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&ours, signal);
    }
    sigprocmask(SIG_BLOCK, &ours, &before_);
    fd_ = UniqueFd(::signalfd(-1, &ours, SFD_CLOEXEC));
    if (!fd_)
        // Without a descriptor, let a signal end the program at once.
        sigprocmask(SIG_SETMASK, &before_, nullptr);
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
    std::_Exit(128 + signal); // reached only if the caller had blocked the signal
}

} // namespace gpuhost::base
