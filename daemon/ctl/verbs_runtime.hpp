// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb runtime_show_verb;

inline constexpr std::array runtime_verbs{&runtime_show_verb};
inline constexpr Family runtime_family{"Container runtimes:", runtime_verbs};

} // namespace gpuhost::ctl
