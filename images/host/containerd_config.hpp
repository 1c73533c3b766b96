// SPDX-License-Identifier: Apache-2.0
// Checks that containerd's CRI, and therefore the kubelet, reads certs.d. "ctr" and "nerdctl" always read it.
//
// config_path is empty by default before containerd 2.2, and certs.d then has no effect on pods. From 2.2 on
// the default is "/etc/containerd/certs.d:/etc/docker/certs.d". Since 2.1 the CRI passes config_path to the
// transfer service, which reads a list as the name of one directory and finds nothing there. One directory is
// therefore the only setting that all versions read.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

/// Returns the problem and the line to write. Empty if certs.d is read, or if containerd serves no CRI.
[[nodiscard]] std::string certs_problem(const base::Root& root);

/// Returns the directories of config_path other than certs.d. A containerd that splits the list uses the
/// first one with a directory for the registry.
[[nodiscard]] std::vector<std::string> other_registry_roots(const base::Root& root);

} // namespace gpuhost::images
