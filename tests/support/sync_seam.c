// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sync_seam.h"

#include <stddef.h>

int (*seam_fsync)(int fd) = NULL;

int __wrap_fsync(int fd) {
    return seam_fsync == NULL ? __real_fsync(fd) : seam_fsync(fd);
}
