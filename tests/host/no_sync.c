// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD library: the program that NO_SYNC names syncs nothing and starts no early writes. A power cut
// then loses data that must survive it.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier)
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int skipped(void) {
    const char* program = getenv("NO_SYNC");
    return program != NULL && strcmp(program, program_invocation_short_name) == 0;
}

int fsync(int fd) {
    return skipped() ? 0 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return skipped() ? 0 : (int)syscall(SYS_fdatasync, fd);
}

int syncfs(int fd) {
    return skipped() ? 0 : (int)syscall(SYS_syncfs, fd);
}

int sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags) {
    return skipped() ? 0 : (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
}

int posix_fadvise(int fd, off_t offset, off_t bytes, int advice) {
    return skipped() || syscall(SYS_fadvise64, fd, offset, bytes, advice) == 0 ? 0 : errno;
}
