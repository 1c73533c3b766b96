// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb operation_list_verb;
extern const Verb operation_show_verb;
extern const Verb operation_wait_verb;
extern const Verb operation_cancel_verb;

inline constexpr std::array operation_verbs{&operation_list_verb, &operation_show_verb, &operation_wait_verb,
                                            &operation_cancel_verb};
inline constexpr Family operation_family{"Operations:", operation_verbs};

} // namespace gpuhost::ctl
