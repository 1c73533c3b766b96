// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <sys/resource.h>

namespace gpuhost::runtime {

/// Drops all capabilities but CAP_DAC_OVERRIDE from this process and from programs that it executes later.
/// CAP_DAC_OVERRIDE permits writes regardless of file modes.
[[nodiscard]] base::Result<void> keep_only_file_access();

/// Forbids sockets of all families, and io_uring, which can create sockets. keep_only_file_access() must run
/// first, because it sets no_new_privs. A network namespace is not used instead: it would prevent less and
/// needs half a millisecond.
[[nodiscard]] base::Result<void> forbid_sockets();

/// Limit on memory in bytes. The image decides the size and number of files that ldconfig reads.
inline constexpr rlim_t max_memory = 256U << 20;
/// Limits a resource of setrlimit(2) to `most`. A lower limit that exists already stays.
[[nodiscard]] base::Result<void> limit(int resource, rlim_t most);

} // namespace gpuhost::runtime
