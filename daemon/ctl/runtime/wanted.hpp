// SPDX-License-Identifier: Apache-2.0
// What the verbs read themselves that compare runtimes with what is wanted.
#pragma once

#include "daemon/runtime/cdi_settings.hpp"
#include "daemon/runtime/runtime_settings.hpp"
#include "daemon/runtime/toolkit_settings.hpp"

namespace gpuhost::ctl {

/// Mistakes in the files are the daemon's and 'reload's to tell: here as there what stood before them counts.
[[nodiscard]] inline core::Settings wanted_of_runtimes(const base::Root& root) {
    return core::load_settings(root, {runtime::runtime_setting_keys(), runtime::cdi_setting_keys(),
                                      runtime::toolkit_setting_keys()})
        .settings;
}

} // namespace gpuhost::ctl
