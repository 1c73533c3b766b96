// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/mount_calls.hpp"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuhost::runtime {
namespace {

using base::fail_errno;
using base::Result;
using base::UniqueFd;

constexpr unsigned mnt_detach = 2; // value from <sys/mount.h>
constexpr unsigned umount_nofollow = 8;
constexpr std::uint64_t sealed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

UniqueFd open_tree(int fd, unsigned flags) {
    return UniqueFd(static_cast<int>(
        ::syscall(SYS_open_tree, fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags)));
}

bool set_attributes(int mount, unsigned flags, std::uint64_t set, std::uint64_t clear) {
    mount_attr attributes{};
    attributes.attr_set = set;
    attributes.attr_clr = clear;
    attributes.propagation = MS_PRIVATE;
    return ::syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | flags, &attributes, sizeof attributes) ==
           0;
}

Result<UniqueFd> clone_tree(int fd, std::uint64_t attributes) {
    UniqueFd tree = open_tree(fd, AT_RECURSIVE);
    if (!tree || !set_attributes(tree.get(), AT_RECURSIVE, attributes, 0) ||
        !set_attributes(tree.get(), 0, 0, MOUNT_ATTR_RDONLY))
        return fail_errno("cloning the container's mounts", errno);
    return tree;
}

} // namespace

Result<UniqueFd> clone_sealed(int fd) {
    UniqueFd mount = open_tree(fd, 0);
    if (!mount || !set_attributes(mount.get(), 0, sealed, 0))
        return fail_errno("cloning a mount", errno);
    return mount;
}

Result<UniqueFd> clone_writable(int fd) {
    return clone_tree(fd, 0);
}

Result<UniqueFd> clone_writable_with_sealed_mounts(int fd) {
    return clone_tree(fd, sealed);
}

Result<UniqueFd> make_tmpfs(std::size_t size) {
    const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
    const std::string bytes = std::to_string(size);
    const auto configure = [&](unsigned command, const char* key, const char* value) {
        return ::syscall(SYS_fsconfig, context.get(), command, key, value, 0) == 0;
    };
    if (!context || !configure(FSCONFIG_SET_STRING, "size", bytes.c_str()) ||
        !configure(FSCONFIG_SET_STRING, "mode", "0755") || !configure(FSCONFIG_CMD_CREATE, nullptr, nullptr))
        return fail_errno("creating a tmpfs", errno);
    UniqueFd mount(static_cast<int>(
        ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID)));
    if (!mount)
        return fail_errno("creating a tmpfs", errno);
    return mount;
}

Result<void> make_read_only(int mount) {
    if (!set_attributes(mount, 0, MOUNT_ATTR_RDONLY, 0))
        return fail_errno("making a mount read-only", errno);
    return {};
}

Result<void> attach(int mount, int target) {
    if (::syscall(SYS_move_mount, mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
        0)
        return fail_errno("attaching a mount", errno);
    return {};
}

Result<void> keep_mounts_private() {
    if (::syscall(SYS_mount, nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0)
        return fail_errno("making '/' a slave", errno);
    return {};
}

Result<void> pivot_into(int mount) {
    // With the same directory for both, pivot_root(2) mounts the old root over the new one, and "." refers to
    // the old root.
    if (::fchdir(mount) < 0 || ::syscall(SYS_pivot_root, ".", ".") < 0 ||
        ::syscall(SYS_umount2, ".", mnt_detach) < 0 || ::chdir("/") < 0)
        return fail_errno("making the container's root '/'", errno);
    return {};
}

void detach(const char* path) {
    (void)::syscall(SYS_umount2, path, mnt_detach | umount_nofollow);
}

Result<void> detach(int mount) {
    const UniqueFd before(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!before || ::fchdir(mount) < 0 || ::syscall(SYS_umount2, ".", mnt_detach) < 0 ||
        ::fchdir(before.get()) < 0)
        return fail_errno("detaching a mount", errno);
    return {};
}

} // namespace gpuhost::runtime
