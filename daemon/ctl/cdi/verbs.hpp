// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb cdi_generate_verb;
extern const Verb cdi_list_verb;
extern const Verb cdi_show_verb;
extern const Verb cdi_validate_verb;

inline constexpr std::array cdi_verbs{&cdi_generate_verb, &cdi_list_verb, &cdi_show_verb, &cdi_validate_verb};
inline constexpr Family cdi_family{"GPUs in containers:", cdi_verbs};

} // namespace gpuhost::ctl
