// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/verb.hpp"

#include <array>

namespace gpuhost::ctl {

std::span<const Option> common_options() noexcept {
    static constexpr std::array options{
        Option{"help", "", "print this help", false, false, 'h'},
        Option{"version", "", "print the version"},
        Option{"no-ask-password", "", "never ask for a password to be allowed something"},
    };
    return options;
}

std::span<const Verb* const> verbs() noexcept {
    static constexpr std::array list{
        &status_verb,         &plan_verb,
        &apply_verb,          &wait_ready_verb,
        &reload_verb,         &cat_config_verb,
        &driver_import_verb,  &driver_build_verb,
        &driver_list_verb,    &driver_show_verb,
        &driver_verify_verb,  &driver_remove_verb,
        &driver_swap_verb,    &driver_rollback_verb,
        &operation_list_verb, &operation_show_verb,
        &operation_wait_verb, &operation_cancel_verb,
    };
    return list;
}

} // namespace gpuhost::ctl
