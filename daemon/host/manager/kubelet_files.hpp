// SPDX-License-Identifier: Apache-2.0
// Reads the kubelet's credentials, which gpuhost-cluster uses to evict this node's pods. Only root can read
// them, and gpuhost-cluster does not run as root. They are not parsed here.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::host {

/// Returns {"files": {path: text}, "problems": [text]} for those of `paths` that exist, at most 64 files. A
/// file that a user other than root owns or can write, or that is larger than 64 KiB, is left out and named
/// in "problems".
[[nodiscard]] base::Json read_kubelet_files(const base::Root& root, const std::vector<std::string>& paths);

} // namespace gpuhost::host
