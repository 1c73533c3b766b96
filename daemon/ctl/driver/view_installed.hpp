// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/package_owner.hpp"
#include "daemon/ctl/cli/terminal.hpp"
#include "kmod/store/installed_driver.hpp"

namespace gpuhost::ctl {

/// Renders the files of an installed driver, their origin, what may interfere with it, and what can be done.
[[nodiscard]] std::string render_installed(const Screen& screen, const kmod::InstalledDriver& driver,
                                           const Owners& owners);

/// Renders, step by step, how gpuhostd replaces the installed driver. `adopted`: its files are in the store
/// already.
[[nodiscard]] std::string render_takeover(const Screen& screen, const kmod::InstalledDriver& driver,
                                          const Owners& owners, const base::Root& root, bool adopted);

} // namespace gpuhost::ctl
