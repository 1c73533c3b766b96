// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb gpu_list_verb;

inline constexpr std::array gpu_verbs{&gpu_list_verb};
inline constexpr Family gpu_family{"GPUs for Kubernetes:", gpu_verbs};

} // namespace gpuhost::ctl
