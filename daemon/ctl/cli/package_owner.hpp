// SPDX-License-Identifier: Apache-2.0
// Finds the packages of the operating system that own given files, with dpkg or rpm.
#pragma once

#include "daemon/base/root.hpp"

#include <set>
#include <string>
#include <vector>

namespace gpuhost::ctl {

struct Owners {
    std::string manager; ///< "dpkg" or "rpm"; empty: neither exists here
    std::set<std::string> packages;
    std::vector<std::string> unowned; ///< files that no package owns
};

/// Asks for the owner of each file by its path. With a merged /usr, dpkg is also asked for the file's other
/// path.
[[nodiscard]] base::Result<Owners> owners_of(const base::Root& root, const std::vector<std::string>& files);

/// Returns the command that removes the packages: "apt-get remove a b"; empty if there are none.
[[nodiscard]] std::string removal_command(const Owners& owners);

} // namespace gpuhost::ctl
