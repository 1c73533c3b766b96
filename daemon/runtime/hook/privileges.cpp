// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/privileges.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::runtime {

using base::fail_errno;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_calls = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_calls = AUDIT_ARCH_AARCH64;
#else
#error "unsupported architecture: its AUDIT_ARCH value is needed"
#endif
/// x86-64's second table of system calls; aarch64 has no numbers as large.
constexpr std::uint32_t x32_calls = 0x40000000;

constexpr sock_filter load(std::size_t offset) {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

constexpr sock_filter answer(std::uint32_t action) {
    return BPF_STMT(BPF_RET | BPF_K, action);
}

} // namespace

base::Result<void> forbid_sockets() {
    std::array filter{
        load(offsetof(seccomp_data, arch)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_calls, 1, 0),
        answer(SECCOMP_RET_KILL_PROCESS),
        load(offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, x32_calls, 3, 0),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 2, 0),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 1, 0),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        answer(SECCOMP_RET_ERRNO | EPERM),
        answer(SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{filter.size(), filter.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return fail_errno("forbidding sockets", errno);
    return {};
}

base::Result<void> keep_only_file_access() {
    // Reduces the bounding set too: root would otherwise regain all capabilities with the next program.
    for (unsigned long capability = 0;; ++capability) {
        const int there = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
        if (there < 0)
            break;
        if (there != 0 && capability != CAP_DAC_OVERRIDE && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return fail_errno("dropping capabilities", errno);
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    sets[0].effective = sets[0].permitted = 1U << CAP_DAC_OVERRIDE;
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        ::syscall(SYS_capset, &header, sets.data()) < 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fail_errno("dropping capabilities", errno);
    return {};
}

base::Result<void> limit(int resource, rlim_t most) {
    const auto which = static_cast<__rlimit_resource>(resource);
    rlimit both{};
    if (::getrlimit(which, &both) < 0)
        return fail_errno("getrlimit", errno);
    both = {std::min(most, both.rlim_cur), std::min(most, both.rlim_max)};
    if (::setrlimit(which, &both) < 0)
        return fail_errno("setrlimit", errno);
    return {};
}

} // namespace gpuhost::runtime
