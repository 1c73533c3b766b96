// SPDX-License-Identifier: Apache-2.0
// The directory that containerd searches for REGISTRY/hosts.toml: images/ writes it, daemon/runtime/
// configures containerd to read it.
#pragma once

#include <string_view>

namespace gpuhost::core {

inline constexpr std::string_view containerd_certs = "/etc/containerd/certs.d";

} // namespace gpuhost::core
