// SPDX-License-Identifier: Apache-2.0
// A link-time seam: link with $(read_seam) and every read(2) and pread(2) of the tested code asks here whether the disk can
// read that. Called by any thread.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Does it fail, with EIO? NULL: all is read as always.
extern bool (*seam_read_fails)(int fd);

ssize_t __real_read(int fd, void* buffer, size_t size);
ssize_t __wrap_read(int fd, void* buffer, size_t size);
ssize_t __real_pread(int fd, void* buffer, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void* buffer, size_t size, off_t at);

#ifdef __cplusplus
}
#endif
