// SPDX-License-Identifier: Apache-2.0
// Loads the settings that the verbs compare runtimes with.
#pragma once

#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/runtime_settings.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

namespace gpuhost::ctl {

/// Returns the settings. A wrong line leaves the earlier value, as in gpuhostd. Mistakes are not reported
/// here, because gpuhostd and 'reload' report them.
[[nodiscard]] inline core::Settings wanted_of_runtimes(const base::Root& root) {
    return core::load_settings(root, {runtime::runtime_setting_keys(), runtime::cdi_setting_keys(),
                                      runtime::toolkit_setting_keys()})
        .settings;
}

} // namespace gpuhost::ctl
