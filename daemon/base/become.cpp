// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/become.hpp"

#include <cerrno>

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace gpuhost::base {

Result<void> become(const std::string& user) {
    const passwd* const entry = ::getpwnam(user.c_str()); // not thread-safe: the process has a single thread
    if (entry == nullptr)
        return fail(Errc::NotFound, "user '" + user + "': not found",
                    "Create it with 'systemd-sysusers gpuhost.conf'.");
    const uid_t uid = entry->pw_uid;
    const gid_t gid = entry->pw_gid;
    if (::initgroups(user.c_str(), gid) < 0 || ::setresgid(gid, gid, gid) < 0 ||
        ::setresuid(uid, uid, uid) < 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fail_errno("becoming user '" + user + "'", errno);
    return {};
}

} // namespace gpuhost::base
