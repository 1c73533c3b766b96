// SPDX-License-Identifier: Apache-2.0
// Wraps base::Root for tests in C.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Writes "/file" below `directory`. Returns 0 or -1.
int shim_write_atomic(const char* directory, const char* content);

#ifdef __cplusplus
}
#endif
