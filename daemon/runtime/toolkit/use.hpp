// SPDX-License-Identifier: Apache-2.0
// Users of a toolkit. These are processes that run its programs or map its libraries, and containers started
// with it. Their runtime or monitor calls it again when they end.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Returns sentences about containers and processes whose runtime was given `path`: "container k8s.io/4f1c…
/// was started by …". `path` is a directory or the link `current`, and is matched literally.
[[nodiscard]] std::vector<std::string> containers_of(const base::Root& root, const std::string& path);

/// Returns sentences about runtimes whose configuration names `path`, or that still use an earlier
/// configuration.
[[nodiscard]] std::vector<std::string> runtimes_of(const base::Root& root, const std::string& path);

/// Returns sentences about users that need the link `current`.
[[nodiscard]] std::vector<std::string> users_of_link(const base::Root& root);

/// Returns containers_of() and processes that use files of `directory`. Fails if a process cannot be
/// examined.
[[nodiscard]] base::Result<std::vector<std::string>> toolkit_users(const base::Root& root,
                                                                   const std::string& directory);

} // namespace gpuhost::runtime
