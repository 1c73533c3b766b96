// SPDX-License-Identifier: Apache-2.0
// A hostile image's replacement of ldconfig, statically linked like the real one. Writes to /etc/probe which
// operations it was able to do.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(FILE* report, const char* what, int could) {
    fprintf(report, "%s %s\n", what, could ? "yes" : "no");
}

static int can_create(const char* path) {
    const int fd = open(path, O_WRONLY | O_CREAT, 0644);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int main(int argc, char** argv, char** environment) {
    FILE* report = fopen("/etc/probe", "w");
    if (report == NULL)
        return 1;
    fprintf(report, "arguments");
    for (int i = 0; i < argc; ++i)
        fprintf(report, " %s", argv[i]);
    fprintf(report, "\n");

    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
    syscall(SYS_capget, &header, sets);
    const int capabilities = sets[0].effective == 1U << CAP_DAC_OVERRIDE &&
                             sets[0].permitted == 1U << CAP_DAC_OVERRIDE && sets[1].permitted == 0;
    say(report, "more-capabilities", !capabilities);
    say(report, "new-privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
    say(report, "environment", environment[0] != NULL);
    int descriptors = 0;
    for (int fd = 3; fd < 256; ++fd)
        descriptors += fd != fileno(report) && fcntl(fd, F_GETFD) >= 0;
    say(report, "descriptors", descriptors != 0);
    say(report, "other-processes", getpid() != 1);
    say(report, "signals-to-parent", getppid() != 0);
    say(report, "proc", access("/proc/self", F_OK) == 0);
    say(report, "dev", access("/dev/null", F_OK) == 0);
    say(report, "own-root", can_create("/etc/probed"));
    say(report, "volume", can_create("/volume/probed"));
    say(report, "outside", access("/../outside", F_OK) == 0 || access("/outside", F_OK) == 0);
    say(report, "device", mknod("/etc/kmem", S_IFCHR | 0600, 0x0102) == 0);
    say(report, "mount", mount("none", "/etc", "tmpfs", 0, NULL) == 0);
    say(report, "unmount", umount2("/volume", MNT_DETACH) == 0);
    say(report, "remount", mount(NULL, "/volume", NULL, MS_REMOUNT | MS_BIND, NULL) == 0);
    say(report, "chroot", chroot("/etc") == 0);
    say(report, "namespace", unshare(CLONE_NEWNS) == 0);
    say(report, "socket", socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || socket(AF_INET, SOCK_DGRAM, 0) >= 0);
    int pair[2];
    say(report, "socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    struct io_uring_params ring = {0};
    say(report, "io_uring", syscall(SYS_io_uring_setup, 1, &ring) >= 0);
#ifdef __x86_64__
    say(report, "x32-socket", syscall(0x40000000 | SYS_socket, AF_INET, SOCK_DGRAM, 0) >= 0);
#endif
    return fclose(report) == 0 ? 0 : 1;
}
