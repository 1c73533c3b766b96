// SPDX-License-Identifier: Apache-2.0
// Default paths of each runtime, which its command line may override.
#pragma once

#include "daemon/runtime/inspect/instance.hpp"

#include <span>
#include <string_view>

namespace gpuhost::runtime {

struct RuntimeProfile {
    std::string_view name;
    RuntimeKind kind;
    std::string_view config;
    std::string_view socket;
    std::string_view executable; ///< the runtime's own program
};

inline constexpr std::string_view crio_drop_ins = "/etc/crio/crio.conf.d";

/// Returns all profiles. "docker-containerd" is Docker's own containerd, which dockerd starts unless it is
/// configured to use another.
[[nodiscard]] std::span<const RuntimeProfile> runtime_profiles();
/// Returns the profile of `kind` called `name`, else the first one of `kind`.
[[nodiscard]] const RuntimeProfile& profile_of(std::string_view name, RuntimeKind kind);

} // namespace gpuhost::runtime
