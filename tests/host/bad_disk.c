// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD library: simulates a disk that can't read a blob of the store from its byte BAD_FROM on.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier)
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_blob(int fd) {
    char link[32];
    char path[4096] = "";
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/store/sha256/") != NULL;
}

// Returns how many of `count` bytes at `at` can be read. Sets errno to EIO if that is 0.
static size_t readable(int fd, off64_t at, size_t count) {
    const char* const text = getenv("BAD_FROM");
    if (text == NULL || !is_blob(fd))
        return count;
    const off64_t from = atoll(text);
    if (at >= from) {
        errno = EIO;
        return 0;
    }
    return count < (size_t)(from - at) ? count : (size_t)(from - at);
}

ssize_t pread64(int fd, void* buffer, size_t count, off64_t at) {
    const size_t most = readable(fd, at, count);
    return most == 0 && count > 0 ? -1 : syscall(SYS_pread64, fd, buffer, most, at);
}

ssize_t pread(int fd, void* buffer, size_t count, off_t at) {
    return pread64(fd, buffer, count, at);
}

ssize_t sendfile64(int to, int fd, off64_t* at, size_t count) {
    const size_t most = readable(fd, at == NULL ? lseek64(fd, 0, SEEK_CUR) : *at, count);
    return most == 0 && count > 0 ? -1 : syscall(SYS_sendfile, to, fd, at, most);
}

ssize_t sendfile(int to, int fd, off_t* at, size_t count) {
    return sendfile64(to, fd, at, count);
}
