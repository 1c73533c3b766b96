// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb secure_boot_create_key_verb;
extern const Verb secure_boot_show_enrolment_verb;
extern const Verb secure_boot_status_verb;

inline constexpr std::array secure_boot_verbs{&secure_boot_create_key_verb, &secure_boot_show_enrolment_verb,
                                              &secure_boot_status_verb};
inline constexpr Family secure_boot_family{"Signed kernel modules:", secure_boot_verbs};

} // namespace gpuhost::ctl
