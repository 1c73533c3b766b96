// SPDX-License-Identifier: Apache-2.0
// Where each runtime has its things unless its command line says otherwise.
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
    std::string_view executable; ///< of the runtime itself
};

inline constexpr std::string_view crio_drop_ins = "/etc/crio/crio.conf.d";

/// Docker's own containerd is one of them: dockerd starts it where it is told of no other.
[[nodiscard]] std::span<const RuntimeProfile> runtime_profiles();
/// `name` is one of theirs; others are containerd's.
[[nodiscard]] const RuntimeProfile& profile_of(std::string_view name, RuntimeKind kind);

} // namespace gpuhost::runtime
