// SPDX-License-Identifier: Apache-2.0
// create-symlinks: links that the driver's libraries need, such as libcuda.so to libcuda.so.1.
#pragma once

#include "daemon/runtime/hook/container_root.hpp"

namespace gpuhost::runtime {

/// Creates links. Each text has the form "TARGET::LINK". A target is used literally and need not exist. Wrong
/// links and files at a link's path are replaced. Links on mounted file systems are skipped: after all others
/// are created, the function then fails with Refused.
[[nodiscard]] base::Result<void> create_symlinks(const ContainerRoot& root,
                                                 const std::vector<std::string>& links);

} // namespace gpuhost::runtime
