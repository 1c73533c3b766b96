// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/ctl/cli/package_owner.hpp"
#include "daemon/ctl/cli/terminal.hpp"
#include "kmod/store/installed_driver.hpp"

namespace gpuhost::ctl {

/// What is there, whose it is, what may disturb it, and what can be done with it.
[[nodiscard]] std::string render_installed(const Screen& screen, const kmod::InstalledDriver& driver,
                                           const Owners& owners);

/// How gpuhostd takes over, in lines; `adopted`: its files are in the store.
[[nodiscard]] std::string render_takeover(const kmod::InstalledDriver& driver, const Owners& owners,
                                          const base::Root& root, bool adopted);

} // namespace gpuhost::ctl
