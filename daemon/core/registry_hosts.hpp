// SPDX-License-Identifier: Apache-2.0
// The directory in which containerd looks for REGISTRY/hosts.toml: images/ fills it, daemon/runtime/ makes containerd read it.
#pragma once

#include <string_view>

namespace gpuhost::core {

inline constexpr std::string_view containerd_certs = "/etc/containerd/certs.d";

} // namespace gpuhost::core
