// SPDX-License-Identifier: Apache-2.0
// A link-time seam. Link with $(read_seam): a test can make each read(2) and pread(2) of the tested code
// fail.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns whether a read fails with EIO. NULL: all reads succeed as usual. Called from any thread.
extern bool (*seam_read_fails)(int fd);

ssize_t __real_read(int fd, void* buffer, size_t size);
ssize_t __wrap_read(int fd, void* buffer, size_t size);
ssize_t __real_pread(int fd, void* buffer, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void* buffer, size_t size, off_t at);

#ifdef __cplusplus
}
#endif
