// SPDX-License-Identifier: Apache-2.0
// create-symlinks: links that the driver's libraries need, such as libcuda.so to libcuda.so.1.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Creates links of the form "TARGET::LINK". Targets are literal and need not exist. Replaces wrong links and
/// files. Skips links in a volume, and fails with Refused after it has created all others.
[[nodiscard]] base::Result<void> create_symlinks(const ContainerRoot& root,
                                                 const std::vector<std::string>& links);

} // namespace gpuhost::runtime
