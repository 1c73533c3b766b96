// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/package_owner.hpp"
#include "daemon/ctl/cli/terminal.hpp"
#include "kmod/store/installed_driver.hpp"

namespace gpuhost::ctl {

/// Renders the installed files, their origin, what may interfere, and what can be done with them.
[[nodiscard]] std::string render_installed(const Screen& screen, const kmod::InstalledDriver& driver,
                                           const Owners& owners);

/// Renders the takeover by gpuhostd step by step. `adopted`: its files are in the store.
[[nodiscard]] std::string render_takeover(const kmod::InstalledDriver& driver, const Owners& owners,
                                          const base::Root& root, bool adopted);

} // namespace gpuhost::ctl
