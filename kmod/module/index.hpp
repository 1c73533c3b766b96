// SPDX-License-Identifier: Apache-2.0
// Computes modprobe's index of one kernel's modules with depmod, beside the real one, while the host is in
// use.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Builds into `scratch` the index that results when updates/gpuhost links to `modules` (a directory; empty:
/// no link).
[[nodiscard]] base::Result<void> build_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);

/// Returns whether the index is complete and the host's own index is unchanged since then. A later depmod run
/// may have added or removed modules.
[[nodiscard]] bool index_is_current(const base::Root& root, std::string_view kernel,
                                    const std::string& scratch);

/// Fails with AlreadyExists if modprobe would load another file than updates/gpuhost's for one of `modules`.
/// Two files of one name in updates/ are resolved by the order of directory entries, which is unpredictable.
/// A rule in depmod.d may prefer any directory.
[[nodiscard]] base::Result<void> check_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);
/// Returns files in updates/, but not in updates/gpuhost, with the names of `modules`: the first case above.
[[nodiscard]] std::vector<std::string> rivals(const base::Root& root, std::string_view kernel,
                                              const std::string& modules);

[[nodiscard]] bool index_is_installed(const base::Root& root, std::string_view kernel,
                                      const std::string& scratch);

/// Installs a built index file by file, each atomically and only if it differs. Every mix of old and new
/// files boots: both name the same files, and a module that one does not name is not loaded automatically.
[[nodiscard]] base::Result<void> install_index(const base::Root& root, std::string_view kernel,
                                               const std::string& scratch);
/// Marks an index that was current before install_index() installed another one as still current.
[[nodiscard]] base::Result<void> keep_index_current(const base::Root& root, std::string_view kernel,
                                                    const std::string& scratch);

} // namespace gpuhost::kmod
