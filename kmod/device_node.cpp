// SPDX-License-Identifier: Apache-2.0
#include "kmod/device_node.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpuhost::kmod {

std::optional<dev_t> device_at(int directory, const char* name) {
    // AT_STATX_DONT_SYNC: the file may be on a network file system whose server does not respond, and must
    // not be queried.
    struct statx st {};
    if (::statx(directory, name, AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 || !S_ISCHR(st.stx_mode))
        return std::nullopt;
    return ::makedev(st.stx_rdev_major, st.stx_rdev_minor);
}

bool is_device_at(int directory, const char* name, const DeviceNode& node) {
    struct stat st {};
    return ::fstatat(directory, name, &st, 0) == 0 && st.st_rdev == ::makedev(node.major, node.minor) &&
           st.st_mode == (S_IFCHR | node.mode) && st.st_uid == node.uid && st.st_gid == node.gid;
}

base::Result<void> make_device(const base::Root& root, const DeviceNode& node) {
    const std::string temporary = node.path + ".gpuhost";
    GPUHOST_CHECK(root.remove(temporary));
    GPUHOST_CHECK(root.make_node(temporary, S_IFCHR | node.mode, ::makedev(node.major, node.minor)));
    if (node.uid != 0 || node.gid != 0) {
        GPUHOST_TRY(fd, root.open_file(temporary, O_PATH | O_NOFOLLOW));
        if (::fchownat(fd.get(), "", node.uid, node.gid, AT_EMPTY_PATH) < 0)
            return base::fail_errno(node.path, errno);
    }
    return root.rename(temporary, node.path);
}

} // namespace gpuhost::kmod
