// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <vector>

namespace gpuhost::devices {

/// Returns the sockets of NVIDIA's device plugin in the kubelet's directory on which a process listens. Two
/// plugins would give the same GPU to two containers. A socket that a dead process left does not count. Does
/// not wait.
[[nodiscard]] std::vector<std::string> other_servers(const base::Root& root);

/// Returns the error for a socket of other_servers().
[[nodiscard]] base::Error other_server_error(const std::string& socket);

} // namespace gpuhost::devices
