// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/create/inventory.hpp"

#include <functional>
#include <map>
#include <string>

namespace gpuhost::ctl {

/// What it takes of a bundle, by what it is.
[[nodiscard]] images::HostFacts read_host_facts(const base::Root& root);

/// What the files of a host say, without its daemon and without privileges. What can't be read is left out, but for the
/// store, in which nothing must be missing.
[[nodiscard]] base::Result<images::Inventory> read_inventory(const base::Root& root);

/// Versions of dpkg's installed packages, by name.
[[nodiscard]] std::map<std::string, std::string, std::less<>> debian_packages(const base::Root& root);

} // namespace gpuhost::ctl
