// SPDX-License-Identifier: Apache-2.0
// Settings for the verbs that compare runtimes with the configuration.
#pragma once

#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/runtime_settings.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

namespace gpuhost::ctl {

/// Loads the settings. The daemon and 'reload' report mistakes in the files; as there, a wrong line
/// leaves the earlier value.
[[nodiscard]] inline core::Settings wanted_of_runtimes(const base::Root& root) {
    return core::load_settings(root, {runtime::runtime_setting_keys(), runtime::cdi_setting_keys(),
                                      runtime::toolkit_setting_keys()})
        .settings;
}

} // namespace gpuhost::ctl
