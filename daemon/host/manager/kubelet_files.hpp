// SPDX-License-Identifier: Apache-2.0
// The kubelet's credentials, for gpuhost-cluster to move this node's pods with: it is no root, and they are root's. Nobody
// parses them here.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::host {

/// {"files": {path: text}, "problems": [text]}: those of `paths` that are there. What others than root could have written is
/// none of the kubelet's: it is left out, and named.
[[nodiscard]] base::Json read_kubelet_files(const base::Root& root, const std::vector<std::string>& paths);

} // namespace gpuhost::host
