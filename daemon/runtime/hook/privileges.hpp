// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

#include <sys/resource.h>

namespace gpuhost::runtime {

/// From now on this process, and what it becomes, can do no more than write where the modes of files forbid it: of
/// root's capabilities CAP_DAC_OVERRIDE is left.
[[nodiscard]] base::Result<void> keep_only_file_access();

/// From now on it makes no socket of any family, nor io_uring, which could. It can't be privileged any more
/// (keep_only_file_access). A network namespace does less, and takes half a millisecond to make.
[[nodiscard]] base::Result<void> forbid_sockets();

inline constexpr rlim_t max_memory = 256U << 20; ///< an image says how large its files are, and how many
/// From now on it has no more than that of a resource, as setrlimit(2) names them; a lower limit stays.
[[nodiscard]] base::Result<void> limit(int resource, rlim_t most);

} // namespace gpuhost::runtime
