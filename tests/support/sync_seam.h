// SPDX-License-Identifier: Apache-2.0
// A link-time seam that GoogleTest and cmocka programs share: link with $(sync_seam) and every fsync and
// fdatasync of the tested code comes here. In C, so that both can.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What is done instead; NULL: what is always done, and nothing is recorded.
extern int (*seam_sync)(int fd);

/// What was to be synced, as it was at that moment. The first seam_count of seam_synced, in order.
struct seam_synced {
    bool directory;
    char content[4096]; ///< of a file, as a string
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
