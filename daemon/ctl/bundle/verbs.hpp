// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/verb.hpp"

#include <array>

namespace gpuhost::ctl {

extern const Verb bundle_collect_verb;
extern const Verb bundle_create_verb;
extern const Verb bundle_diff_verb;
extern const Verb bundle_verify_verb;
extern const Verb bundle_show_verb;
extern const Verb bundle_import_verb;
extern const Verb bundle_fetch_verb;
extern const Verb bundle_list_verb;
extern const Verb bundle_remove_verb;
extern const Verb bundle_scrub_verb;

inline constexpr std::array bundle_verbs{
    &bundle_collect_verb, &bundle_create_verb, &bundle_diff_verb, &bundle_verify_verb, &bundle_show_verb,
    &bundle_import_verb,  &bundle_fetch_verb,  &bundle_list_verb, &bundle_remove_verb, &bundle_scrub_verb};
inline constexpr Family bundle_family{"Bundles:", bundle_verbs};

} // namespace gpuhost::ctl
