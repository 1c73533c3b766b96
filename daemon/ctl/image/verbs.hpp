// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb image_list_verb;
extern const Verb image_show_verb;
extern const Verb image_policy_verb;
extern const Verb image_pull_verb;
extern const Verb image_pin_verb;
extern const Verb image_unpin_verb;

inline constexpr std::array image_verbs{&image_list_verb, &image_show_verb, &image_policy_verb,
                                        &image_pull_verb, &image_pin_verb,  &image_unpin_verb};
inline constexpr Family image_family{"Images:", image_verbs};

} // namespace gpuhost::ctl
