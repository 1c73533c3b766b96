// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb status_verb;
extern const Verb dashboard_verb;
extern const Verb doctor_verb;
extern const Verb apply_verb;
extern const Verb upgrade_verb;
extern const Verb wait_ready_verb;
extern const Verb reload_verb;
extern const Verb report_verb;
extern const Verb inventory_export_verb;
extern const Verb help_verb;

inline constexpr std::array host_verbs{&status_verb,  &dashboard_verb,  &doctor_verb, &apply_verb,
                                       &upgrade_verb, &wait_ready_verb, &reload_verb, &inventory_export_verb,
                                       &report_verb,  &help_verb};
inline constexpr Family host_family{"The host:", host_verbs};

} // namespace gpuhost::ctl
