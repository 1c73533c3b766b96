// SPDX-License-Identifier: Apache-2.0
// modprobe's index of one kernel's modules, computed by depmod beside the real one, while the host serves.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Into `scratch`: the index as it will be with updates/gpuhost leading to `modules` (a directory; empty:
/// without).
[[nodiscard]] base::Result<void> build_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);

/// Built to its end, and the host's own index is still the one beside which it was: whoever ran depmod since may
/// have brought or taken modules.
[[nodiscard]] bool index_is_current(const base::Root& root, std::string_view kernel,
                                    const std::string& scratch);

/// AlreadyExists if modprobe would take another file than updates/gpuhost's for one of `modules`. Of two in updates/
/// the order of directory entries decides, which nobody knows; a rule in depmod.d may take one from anywhere.
[[nodiscard]] base::Result<void> check_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);
/// Files in updates/, but not in updates/gpuhost, by the names of `modules`: the first of the two cases.
[[nodiscard]] std::vector<std::string> rivals(const base::Root& root, std::string_view kernel,
                                              const std::string& modules);

[[nodiscard]] bool index_is_installed(const base::Root& root, std::string_view kernel,
                                      const std::string& scratch);

/// Puts a built index in place, file by file, each atomically and only if it differs. Every mix of old and
/// new files boots: both name the same files, and what one does not name is not loaded by itself.
[[nodiscard]] base::Result<void> install_index(const base::Root& root, std::string_view kernel,
                                               const std::string& scratch);
/// What was current before install_index() put another one in place is so after it.
[[nodiscard]] base::Result<void> keep_index_current(const base::Root& root, std::string_view kernel,
                                                    const std::string& scratch);

} // namespace gpuhost::kmod
