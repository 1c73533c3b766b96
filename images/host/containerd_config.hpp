// SPDX-License-Identifier: Apache-2.0
// Checks that containerd's CRI, which pulls images for the kubelet, reads /etc/containerd/certs.d. "ctr" and
// "nerdctl" read it in any case.
//
// The CRI reads certs.d if config_path in config.toml names it. The default of config_path is empty before
// containerd 2.2, and later "/etc/containerd/certs.d:/etc/docker/certs.d". Since 2.1 the CRI passes
// config_path to containerd's transfer service. The service uses a list as the name of a single directory,
// and finds nothing. A config_path with one directory is therefore the only setting that works with all
// versions.
//
// Scans lines, because this code runs in the daemon, which does not parse TOML. The daemon calls it at each
// observation, also for plans before any worker has run. The TOML reader, daemon/runtime/inspect, runs in
// workers and gpuhostctl. It needs containerd's version, so only steps in the sandbox Runtimes can use it;
// the step images.mirrors has the sandbox System. The reader's record has no config_path, and exists only
// after the step runtime.configure. After an administrator's edit, the record would be stale until the next
// step, but the status must show that edit at once.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::images {

/// Returns a sentence with the problem and the line to write in config.toml. Empty if the CRI reads certs.d,
/// or if the CRI is disabled.
[[nodiscard]] std::string certs_problem(const base::Root& root);

/// Returns the directories in config_path other than certs.d. If containerd splits the list, it uses only the
/// first one that has a subdirectory for the registry.
[[nodiscard]] std::vector<std::string> other_registry_roots(const base::Root& root);

} // namespace gpuhost::images
