// SPDX-License-Identifier: Apache-2.0
// A link-time seam for GoogleTest and cmocka programs, therefore in C. Link with $(sync_seam): it intercepts
// every fsync and fdatasync of the tested code.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Called instead; NULL: the real function is called, without a record.
extern int (*seam_sync)(int fd);

/// A file or directory at the moment of its sync. The first seam_count entries of seam_synced are valid, in
/// order.
struct seam_synced {
    bool directory;
    char content[4096]; ///< a file's content as a string
};
extern struct seam_synced seam_synced[8];
extern size_t seam_count;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

#ifdef __cplusplus
}
#endif
