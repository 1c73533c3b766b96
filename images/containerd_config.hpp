// SPDX-License-Identifier: Apache-2.0
// Does containerd's own configuration lead the CRI, and so the kubelet, to certs.d? "ctr" and "nerdctl" go there anyway.
//
// config_path is empty by default before containerd 2.2, and then nothing in certs.d has any effect. From 2.2 on the
// default is certs.d, unless registry.mirrors of old are in use.
#pragma once

#include "daemon/base/root.hpp"

#include <string>

namespace gpuhost::images {

inline constexpr std::string_view containerd_certs = "/etc/containerd/certs.d";

/// A sentence with the next step where it does not, or where that depends on a version that the daemon does not know; empty
/// where it does, and where containerd serves no CRI.
[[nodiscard]] std::string certs_problem(const base::Root& root);

} // namespace gpuhost::images
