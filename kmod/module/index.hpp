// SPDX-License-Identifier: Apache-2.0
// Runs depmod to compute modprobe's index (modules.dep and others) of one kernel's modules for a future
// selection. The result is written to a directory of its own (`scratch`) while the host uses the installed
// index. Later it is installed file by file.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::kmod {

/// Builds the index in `scratch`. The index is for the time when /lib/modules/<kernel>/updates/gpuhost is a
/// link to the directory `modules`. If `modules` is empty, the index is for the time when that link does
/// not exist. Replaces an earlier content of `scratch`.
[[nodiscard]] base::Result<void> build_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);

/// Returns whether the index in `scratch` is complete and still right: the installed index has not changed
/// since `scratch` was built. A later run of depmod may have added modules to the installed index or removed
/// some.
[[nodiscard]] bool index_is_current(const base::Root& root, std::string_view kernel,
                                    const std::string& scratch);

/// Checks that modprobe, with the index in `scratch`, loads all modules in the directory `modules` from
/// updates/gpuhost. Fails with AlreadyExists if modprobe would load another file for one of them. One case
/// is another file of the same name in updates/: depmod then uses either of the two. Another case is a rule
/// in depmod.d that prefers another directory.
[[nodiscard]] base::Result<void> check_index(const base::Root& root, std::string_view kernel,
                                             const std::string& modules, const std::string& scratch);
/// Returns the files below updates/, outside of updates/gpuhost, that have the name of a module in the
/// directory `modules`: the first case of check_index().
[[nodiscard]] std::vector<std::string> rivals(const base::Root& root, std::string_view kernel,
                                              const std::string& modules);

/// Returns whether the installed index is the same as the one in `scratch`.
[[nodiscard]] bool index_is_installed(const base::Root& root, std::string_view kernel,
                                      const std::string& scratch);

/// Copies the index in `scratch` to /lib/modules/<kernel>: each file atomically, and only if it differs.
/// After an interruption, some files are old and some new. The host boots nevertheless. The only effect is
/// that a module that is not in all of the files is not loaded automatically.
[[nodiscard]] base::Result<void> install_index(const base::Root& root, std::string_view kernel,
                                               const std::string& scratch);
/// Marks the index in `scratch` as current again after install_index() has changed the installed index. Call
/// it only for an index that was current before install_index().
[[nodiscard]] base::Result<void> keep_index_current(const base::Root& root, std::string_view kernel,
                                                    const std::string& scratch);

} // namespace gpuhost::kmod
