// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb toolkit_import_verb;
extern const Verb toolkit_list_verb;
extern const Verb toolkit_show_verb;
extern const Verb toolkit_remove_verb;

inline constexpr std::array toolkit_verbs{&toolkit_import_verb, &toolkit_list_verb, &toolkit_show_verb,
                                          &toolkit_remove_verb};
inline constexpr Family toolkit_family{"NVIDIA's container toolkit:", toolkit_verbs};

} // namespace gpuhost::ctl
