// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/manager/mounted_system.hpp"

#include "daemon/base/root.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

namespace gpuhost::host {
namespace {

using base::Errc;
using base::fail_errno;
using base::Result;

constexpr std::array of_the_running{"/proc", "/sys", "/run", "/dev"};
constexpr const char* mount_all = "Mount all of the system there, including /var.";

std::string quote(const std::string& directory) {
    return "'" + directory + "'";
}

bool is_same(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Returns true if `directory` is the root directory of the running system, which is the root of pid 1. First
/// reads the /proc below `directory`, because `directory` may be the host's root, mounted in a container.
/// Then reads this process's /proc. If the link there can't be read, "/" counts as the root of pid 1. Without
/// any /proc, as in a chroot, returns false, because "/" is not the root of the running system then.
bool is_running_system(const std::string& directory, const struct stat& st) {
    struct stat running {};
    if (::stat((directory + "/proc/1/root/").c_str(), &running) == 0 && is_same(running, st))
        return true;
    if (::stat("/proc/1/root/", &running) < 0 && (errno == ENOENT || ::stat("/", &running) < 0))
        return false;
    return is_same(running, st);
}

Result<void> check(const std::string& directory, bool writable) {
    if (::geteuid() != 0)
        return base::fail(Errc::AccessDenied, "only root may work on a mounted system",
                          "Run the command as root.");
    struct stat st {};
    if (::stat(directory.c_str(), &st) < 0)
        return fail_errno(quote(directory), errno);
    if (!S_ISDIR(st.st_mode))
        return base::fail(Errc::InvalidArgument, quote(directory) + " is not a directory");
    if (is_running_system(directory, st))
        return base::fail(Errc::InvalidArgument, quote(directory) + " is the running system",
                          "Omit --root: the running system's own gpuhostd does it.");
    GPUHOST_TRY(root, base::Root::open(directory));
    for (const char* needed : of_the_running) // a tmpfs is mounted on each, so symbolic links are refused
        if (struct stat there{};
            ::lstat(root.host_path(needed).c_str(), &there) < 0 || !S_ISDIR(there.st_mode))
            return base::fail(Errc::NotFound,
                              quote(directory) + " is not the root of a system: it has no " + needed,
                              mount_all);
    const auto state = root.open_file("/var/lib/gpuhost", O_PATH | O_DIRECTORY);
    if (!state)
        return base::fail(Errc::NotFound, "the system in " + quote(directory) + " has no /var/lib/gpuhost",
                          mount_all);
    struct statvfs fs {};
    if (writable && ::fstatvfs(state->get(), &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0)
        return base::fail(Errc::Refused, "the system in " + quote(directory) + " is mounted read-only",
                          "Mount it writable: mount -o remount,rw " + directory);
    return {};
}

Result<void> mount_at(const char* source, const std::string& target, const char* type, unsigned long flags,
                      const char* options = nullptr) {
    if (::mount(source, target.c_str(), type, flags, options) < 0)
        return fail_errno("mounting " + quote(target), errno);
    return {};
}

Result<void> report_not_running(const base::Root& root) {
    sd_id128_t boot{};
    if (const int r = sd_id128_randomize(&boot); r < 0)
        return fail_errno("generating a boot ID", -r);
    std::array<char, SD_ID128_UUID_STRING_MAX> text{};
    GPUHOST_CHECK(root.make_directories("/proc/sys/kernel/random"));
    GPUHOST_CHECK(root.write_atomic("/proc/sys/kernel/random/boot_id",
                                    std::string(sd_id128_to_uuid_string(boot, text.data())) + "\n"));
    GPUHOST_CHECK(root.write_atomic("/proc/sys/kernel/osrelease", std::string(no_kernel) + "\n"));
    return root.write_atomic("/proc/modules", "");
}

} // namespace

Result<std::string> enter_mounted_system(const std::string& directory, bool writable) {
    GPUHOST_CHECK(check(directory, writable));
    if (::unshare(CLONE_NEWNS) < 0)
        return fail_errno("making a mount namespace", errno);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0)
        return base::fail(
            Errc::Failed, base::errno_error("making all mounts private", errno).message,
            "In a chroot, make '/' a mount point: mount --bind DIRECTORY DIRECTORY, and then chroot "
            "there.");
    // Changes to `directory` before the tmpfs hides /run, because `directory` may be below /run; then
    // bind-mounts the working directory. The tmpfs also hides the sockets of the running system's systemd and
    // D-Bus. All mounts end with this process.
    if (::chdir(directory.c_str()) < 0)
        return fail_errno(quote(directory), errno);
    GPUHOST_CHECK(mount_at("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755"));
    if (::mkdir(rescue_place, 0700) < 0)
        return fail_errno(rescue_place, errno);
    GPUHOST_CHECK(mount_at(".", rescue_place, nullptr, MS_BIND | MS_REC));
    if (::chdir("/") < 0)
        return fail_errno("/", errno);
    for (const char* empty : of_the_running)
        GPUHOST_CHECK(mount_at("tmpfs", rescue_place + std::string(empty), "tmpfs",
                               MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755"));
    GPUHOST_TRY(root, base::Root::open(rescue_place));
    GPUHOST_CHECK(report_not_running(root));
    return std::string(rescue_place);
}

} // namespace gpuhost::host
