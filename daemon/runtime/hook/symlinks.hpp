// SPDX-License-Identifier: Apache-2.0
// create-symlinks: links that the driver's libraries need, such as libcuda.so to libcuda.so.1.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Each is "TARGET::LINK"; the target is kept as it is, and need not exist. A wrong link, and a file in its place, is
/// replaced. A place in a volume is passed over, and Refused when all the others are done.
[[nodiscard]] base::Result<void> create_symlinks(const ContainerRoot& root,
                                                 const std::vector<std::string>& links);

} // namespace gpuhost::runtime
