// SPDX-License-Identifier: Apache-2.0
// Finds the users of a toolkit. These are processes that run its programs or map its libraries, and
// containers that were started with it. When such a container ends, its runtime or monitor runs the toolkit's
// programs again.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns sentences about containers and processes whose low-level runtime has a path below `path`:
/// "container k8s.io/4f1c… was started with it". `path` is a directory or the link `current`. It is compared
/// as text; links are not resolved.
[[nodiscard]] std::vector<std::string> containers_of(const base::Root& root, const std::string& path);

/// Returns sentences about container runtimes whose configuration contains `path`, and about those that have
/// not been restarted since their configuration changed.
[[nodiscard]] std::vector<std::string> runtimes_of(const base::Root& root, const std::string& path);

/// Returns sentences about containers and container runtimes that need the link `current`.
[[nodiscard]] std::vector<std::string> users_of_link(const base::Root& root);

/// Returns containers_of(), and sentences about processes that use files of `directory`. Fails if a process
/// cannot be examined.
[[nodiscard]] base::Result<std::vector<std::string>> toolkit_users(const base::Root& root,
                                                                   const std::string& directory);

} // namespace gpuhost::runtime
