// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/clock.hpp"
#include "daemon/base/parse.hpp"
#include "kmod/holder/holders.hpp"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

/// Time for processes to end after SIGKILL; one that is blocked in the kernel does not end.
constexpr std::chrono::milliseconds kill_patience{5'000};

/// A process to terminate.
struct Target {
    Holder holder;
    base::UniqueFd process; ///< pidfd
    bool holds = true;      ///< whether it held the driver at the last check
};

/// Returns whether the process must not be signalled: PID 1, or a process of gpuhost. Uses PID and unit,
/// because a process can give itself any name.
bool is_sacred(const Holder& holder) {
    return holder.pid <= 1 || holder.pid == ::getpid() || holder.pid == ::getppid() ||
           base::starts_with(holder.origin.unit, "gpuhost");
}

void send(const Target& target, int signal) {
    (void)::syscall(SYS_pidfd_send_signal, target.process.get(), signal, nullptr, 0);
}

bool ended(const Target& target, int wait_ms) {
    pollfd poll{target.process.get(), POLLIN, 0};
    return ::poll(&poll, 1, wait_ms) > 0;
}

/// Waits until all targets have ended, but at most `patience`. Removes those that have ended.
void wait_for_end(std::vector<Target>& targets, std::chrono::milliseconds patience) {
    const std::uint64_t until = base::monotonic_us() + static_cast<std::uint64_t>(patience.count()) * 1000;
    while (!targets.empty()) {
        const std::uint64_t now = base::monotonic_us();
        if (!ended(targets.back(), now < until ? static_cast<int>((until - now) / 1000) + 1 : 0))
            break;
        targets.pop_back();
    }
    std::vector<Target> left;
    for (Target& target : targets)
        if (!ended(target, 0))
            left.push_back(std::move(target));
    targets = std::move(left);
}

/// Opens a pidfd for each holder that still holds the driver. Opens the pidfd before it checks the process,
/// because the PID may belong to another process by now. Fails with InUse if one of the holders must not be
/// signalled.
base::Result<std::vector<Target>> open_targets(const base::Root& root, const std::vector<Holder>& holders) {
    std::vector<Target> targets;
    for (const Holder& holder : holders) {
        if (is_sacred(holder))
            return base::fail(base::Errc::InUse,
                              describe(holder) + " holds the driver and cannot be terminated",
                              "Stop it manually.");
        base::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, holder.pid, 0)));
        if (!process && errno != ESRCH)
            return base::fail_errno(describe(holder), errno);
        if (process && holds_driver(root, holder.pid))
            targets.push_back({holder, std::move(process)});
    }
    return targets;
}

/// Checks again which targets hold the driver, and removes those that have released it and continue to run. A
/// process without open descriptors is kept in the list: it may be ending while the kernel still closes its
/// files.
void look_again(const base::Root& root, std::vector<Target>& targets) {
    for (Target& target : targets)
        target.holds = holds_driver(root, target.holder.pid);
    std::erase_if(targets, [&](const Target& target) {
        return !target.holds && has_descriptors(root, target.holder.pid);
    });
}

} // namespace

base::Result<void> terminate(const base::Root& root, const std::vector<Holder>& holders,
                             std::chrono::milliseconds grace) {
    GPUHOST_TRY(targets, open_targets(root, holders));
    for (const Target& target : targets)
        send(target, SIGTERM);
    wait_for_end(targets, grace);
    look_again(root, targets);
    for (const Target& target : targets)
        if (target.holds)
            send(target, SIGKILL);
    wait_for_end(targets, kill_patience);
    const auto stuck =
        std::find_if(targets.begin(), targets.end(), [](const Target& target) { return target.holds; });
    if (stuck == targets.end())
        return {};
    return base::fail(base::Errc::InUse, describe(stuck->holder) + " did not exit after SIGKILL",
                      "Reboot the host: the process is blocked in the kernel.");
}

} // namespace gpuhost::kmod
