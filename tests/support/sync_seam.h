// SPDX-License-Identifier: Apache-2.0
// A link-time seam that GoogleTest and cmocka programs share: link with -Wl,--wrap=fsync and every fsync of
// the tested code comes here. In C, so that both can.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// What fsync does instead; NULL: what it always does.
extern int (*seam_fsync)(int fd);

int __real_fsync(int fd);
int __wrap_fsync(int fd);

#ifdef __cplusplus
}
#endif
