// SPDX-License-Identifier: Apache-2.0
// Reads the files with the kubelet's credentials. gpuhost-cluster uses them to evict this node's pods, but
// only root may read them, and gpuhost-cluster does not run as root. gpuhostd does not parse them.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::host {

/// Returns {"files": {path: text}, "problems": [text]} for those of `paths` that exist. Leaves out a file
/// that is not regular, that is larger than 64 KiB, or that a user other than root owns or may write. Reads
/// at most 64 files. "problems" has one line for each file that was left out, and one line for all files
/// after the 64th.
[[nodiscard]] base::Json read_kubelet_files(const base::Root& root, const std::vector<std::string>& paths);

} // namespace gpuhost::host
