// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/result.hpp"

namespace gpuhost::runtime {

/// From now on this process, and what it becomes, can do no more than write where the modes of files forbid it: of
/// root's capabilities CAP_DAC_OVERRIDE is left.
[[nodiscard]] base::Result<void> keep_only_file_access();

} // namespace gpuhost::runtime
