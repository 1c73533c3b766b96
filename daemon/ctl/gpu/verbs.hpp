// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb gpu_list_verb;
extern const Verb gpu_show_verb;
extern const Verb gpu_mark_verb;
extern const Verb gpu_clear_verb;

inline constexpr std::array gpu_verbs{&gpu_list_verb, &gpu_show_verb, &gpu_mark_verb, &gpu_clear_verb};
inline constexpr Family gpu_family{"GPUs for Kubernetes:", gpu_verbs};

} // namespace gpuhost::ctl
