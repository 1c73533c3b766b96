// SPDX-License-Identifier: Apache-2.0
// The directory in which containerd searches for REGISTRY/hosts.toml. images/ writes these files,
// daemon/runtime/ configures containerd to read them.
#pragma once

#include <string_view>

namespace gpuhost::core {

inline constexpr std::string_view containerd_certs = "/etc/containerd/certs.d";

} // namespace gpuhost::core
