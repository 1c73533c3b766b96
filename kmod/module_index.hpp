// SPDX-License-Identifier: Apache-2.0
// modprobe's index of one kernel's modules, computed by depmod beside the real one, while the host serves.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>

namespace gpuhost::kmod {

/// Into `scratch`: the index as it will be with updates/gpuhost leading to `modules` (a directory; empty:
/// without).
[[nodiscard]] base::Result<void> build_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);

[[nodiscard]] bool is_installed(const base::Root& root, std::string_view kernel, const std::string& scratch);

/// Puts a built index in place, file by file, each atomically and only if it differs. Every mix of old and
/// new files boots: both name the same files, and what one does not name is not loaded by itself.
[[nodiscard]] base::Result<void> install_index(const base::Root& root, std::string_view kernel,
                                               const std::string& scratch);

} // namespace gpuhost::kmod
