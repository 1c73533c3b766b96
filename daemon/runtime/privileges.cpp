// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/privileges.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::runtime {

using base::fail_errno;

base::Result<void> keep_only_file_access() {
    // The bounding set too: root would get all of it back with the next program.
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
