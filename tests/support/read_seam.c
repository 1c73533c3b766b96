// SPDX-License-Identifier: Apache-2.0
#include "tests/support/read_seam.h"

#include <errno.h>
#include <stddef.h>

bool (*seam_read_fails)(int fd) = NULL;

static bool fails(int fd) {
    if (seam_read_fails == NULL || !seam_read_fails(fd))
        return false;
    errno = EIO;
    return true;
}

ssize_t __wrap_read(int fd, void* buffer, size_t size) {
    return fails(fd) ? -1 : __real_read(fd, buffer, size);
}

ssize_t __wrap_pread(int fd, void* buffer, size_t size, off_t at) {
    return fails(fd) ? -1 : __real_pread(fd, buffer, size, at);
}
