// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb runtime_show_verb;
extern const Verb runtime_configure_verb;
extern const Verb runtime_unconfigure_verb;
extern const Verb runtime_verify_verb;

inline constexpr std::array runtime_verbs{&runtime_show_verb, &runtime_configure_verb,
                                          &runtime_unconfigure_verb, &runtime_verify_verb};
inline constexpr Family runtime_family{"Container runtimes:", runtime_verbs};

} // namespace gpuhost::ctl
