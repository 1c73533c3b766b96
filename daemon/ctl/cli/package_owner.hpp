// SPDX-License-Identifier: Apache-2.0
// Which packages of the operating system files are of, as dpkg or rpm says.
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <vector>

namespace gpuhost::ctl {

struct Owners {
    std::string manager; ///< "dpkg" or "rpm"; empty: there is none of them here
    std::set<std::string> packages;
    std::vector<std::string> unowned; ///< files of no package
};

/// Each file is asked for by its own path, and where the root has /usr merged by the other one that it may be known by.
[[nodiscard]] base::Result<Owners> owners_of(const base::Root& root, const std::vector<std::string>& files);

/// What takes them away: "apt-get remove a b". Empty without packages.
[[nodiscard]] std::string removal_command(const Owners& owners);

} // namespace gpuhost::ctl
