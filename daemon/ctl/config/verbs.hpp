// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb config_show_verb;
extern const Verb config_check_verb;
extern const Verb config_cat_verb;

inline constexpr std::array config_verbs{&config_show_verb, &config_check_verb, &config_cat_verb};
inline constexpr Family config_family{"Configuration:", config_verbs};

} // namespace gpuhost::ctl
