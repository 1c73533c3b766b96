// SPDX-License-Identifier: Apache-2.0
// Who uses a toolkit: processes that run one of its programs or map one of its libraries, and containers that were started by it,
// whose runtime or monitor will call it again, when they end.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::runtime {

/// Containers and processes to whose runtime `path` was named, as sentences: "container k8s.io/4f1c… was started by …". `path` is a
/// directory, the link `current` among them; it is looked for as it is written.
[[nodiscard]] std::vector<std::string> containers_of(const base::Root& root, const std::string& path);

/// Runtimes whose configuration names `path`, or that run with one of before, as sentences.
[[nodiscard]] std::vector<std::string> runtimes_of(const base::Root& root, const std::string& path);

/// What needs the link `current` to lead somewhere.
[[nodiscard]] std::vector<std::string> users_of_link(const base::Root& root);

/// These of `directory`, and processes with files of it. A process that can't be looked at is an error.
[[nodiscard]] base::Result<std::vector<std::string>> toolkit_users(const base::Root& root,
                                                                   const std::string& directory);

} // namespace gpuhost::runtime
