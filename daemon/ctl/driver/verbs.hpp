// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb driver_import_verb;
extern const Verb driver_adopt_verb;
extern const Verb driver_build_verb;
extern const Verb driver_export_verb;
extern const Verb driver_list_verb;
extern const Verb driver_history_verb;
extern const Verb driver_show_verb;
extern const Verb driver_verify_verb;
extern const Verb driver_remove_verb;
extern const Verb driver_pin_verb;
extern const Verb driver_unpin_verb;
extern const Verb driver_clean_verb;
extern const Verb driver_swap_verb;
extern const Verb driver_rollback_verb;
extern const Verb driver_set_default_verb;
extern const Verb driver_release_verb;
extern const Verb driver_prepare_verb;

inline constexpr std::array driver_verbs{
    &driver_import_verb, &driver_adopt_verb,    &driver_build_verb,       &driver_export_verb,
    &driver_list_verb,   &driver_history_verb,  &driver_show_verb,        &driver_verify_verb,
    &driver_remove_verb, &driver_pin_verb,      &driver_unpin_verb,       &driver_clean_verb,
    &driver_swap_verb,   &driver_rollback_verb, &driver_set_default_verb, &driver_release_verb,
    &driver_prepare_verb};
inline constexpr Family driver_family{"Drivers:", driver_verbs};

} // namespace gpuhost::ctl
